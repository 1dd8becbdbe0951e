//! File-scope objects, their structs and initial values.

use super::{Checker, Symbol};
use crate::ast::{self, ElementType, ObjectId, StructId, Width};
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Base, Declaration, InitDeclarator, Initialiser, Part, Specifier, Specs, StructSpec};

/// The scalars of an object, for its initialiser.
#[derive(Clone)]
enum Shape {
    Scalar(Width),
    Array(Box<Shape>, u64),
    Fields(Vec<Shape>),
}

impl Shape {
    fn scalars(&self) -> u64 {
        match self {
            Shape::Scalar(_) => 1,
            Shape::Array(element, size) => element.scalars().saturating_mul(*size),
            Shape::Fields(fields) => fields.iter().map(Shape::scalars).fold(0, u64::saturating_add),
        }
    }
}

impl Checker<'_> {
    pub(super) fn object(&mut self, specs: &Specs, init: &InitDeclarator) {
        let declarator = &init.declarator;
        self.specifiers(specs, &[Specifier::Static, Specifier::Const, Specifier::Extern]);
        let Some(name) = &declarator.name else {
            self.fault(declarator.span, Rule::Syntax, "a name is missing here");
            return;
        };
        let is_static = specs.find(Specifier::Static).is_some();
        if self.in_header(name.span) {
            let message = format!("`{}` is an object in a header", name.text);
            self.fault(name.span, Rule::ObjectStatic, message);
        } else if let Some(span) = specs.find(Specifier::Extern) {
            self.fault(span, Rule::ObjectStatic, format!("`{}` is another file's object", name.text));
        } else if !is_static {
            self.fault(name.span, Rule::ObjectStatic, format!("`{}` is visible outside its layer", name.text));
        }
        let alignment = specs.alignment.as_ref().and_then(|expr| self.constant(expr, Rule::ArraySize));
        let shape = self.object_type(specs, init);
        let Some((size, element)) = shape else {
            self.quiet_initialiser(&init.initialiser);
            self.refuse_symbol(declarator);
            return;
        };
        let id = ObjectId(self.unit.objects.len());
        if !self.declare(name, Symbol::Object(id)) {
            return;
        }
        let initial = match &init.initialiser {
            None => Vec::new(),
            Some(initialiser) => self.initial_values(size, element, initialiser),
        };
        self.unit.objects.push(ast::Object {
            name: name.text.to_string(),
            size,
            element,
            initial,
            constant: specs.find(Specifier::Const).is_some(),
            alignment: alignment.map(|alignment| alignment.value),
            span: name.span,
        });
    }

    fn object_type(&mut self, specs: &Specs, init: &InitDeclarator) -> Option<(Option<u64>, ElementType)> {
        let declarator = &init.declarator;
        if !self.no_pointers(declarator) {
            return None;
        }
        let mut sizes = Vec::new();
        let mut sound = true;
        for part in &declarator.parts {
            match part {
                Part::Array(size, span) => match self.array_size(size.as_deref(), *span) {
                    Some(size) => sizes.push(size),
                    None => sound = false,
                },
                _ => sound = false,
            }
        }
        let element = match &specs.base {
            Base::Struct(spec) => ElementType::Struct(self.struct_type(spec, specs.base_span)?),
            _ => ElementType::Scalar(self.scalar_base(specs, "an object")?),
        };
        if !sound {
            return None;
        }
        match (element, &sizes[..]) {
            (ElementType::Scalar(_), []) => Some((None, element)),
            (_, [size]) => Some((Some(*size), element)),
            (ElementType::Scalar(width), [size, inner]) => Some((Some(*size), ElementType::Array(width, *inner))),
            (ElementType::Struct(_), []) => {
                self.fault(declarator.span, Rule::ObjectShape, "a single struct");
                None
            }
            _ => {
                self.fault(declarator.span, Rule::ObjectShape, "an array with too many dimensions");
                None
            }
        }
    }

    pub(super) fn array_size(&mut self, size: Option<&crate::syntax::Expr>, span: Span) -> Option<u64> {
        let Some(expr) = size else {
            self.fault(span, Rule::ArraySize, "an array without size");
            return None;
        };
        let value = self.constant(expr, Rule::ArraySize)?.value;
        if value == 0 {
            self.fault(expr.span, Rule::ArraySize, "an array of size 0");
            return None;
        }
        Some(value)
    }

    fn struct_type(&mut self, spec: &StructSpec, span: Span) -> Option<StructId> {
        match (&spec.tag, &spec.fields) {
            // A body was entered by `base_definition`; a nameless one is the last that was.
            (None, _) => Some(StructId(self.unit.structs.len().checked_sub(1)?)),
            (Some(tag), _) => match self.tags.get(&tag.text) {
                Some(id) => *id,
                None => {
                    self.fault(span, Rule::Undeclared, format!("`struct {}` is not declared", tag.text));
                    self.tags.insert(tag.text.clone(), None);
                    None
                }
            },
        }
    }

    pub(super) fn struct_definition(&mut self, spec: &StructSpec, span: Span) {
        let mut fields: Vec<ast::Field> = Vec::new();
        let mut complete = true;
        for declaration in spec.fields.iter().flatten() {
            complete &= self.struct_fields(declaration, &mut fields);
        }
        if let Some(tag) = &spec.tag {
            let id = StructId(self.unit.structs.len());
            if self.tags.insert(tag.text.clone(), Some(id)).flatten().is_some() {
                self.fault(tag.span, Rule::Redeclared, format!("`struct {}` is declared a second time", tag.text));
            }
        }
        let tag = spec.tag.as_ref().map(|tag| tag.text.to_string());
        self.unit.structs.push(ast::Struct { tag, fields, complete, span });
    }

    /// Adds the fields of one declaration; false if one was refused.
    fn struct_fields(&mut self, declaration: &Declaration, fields: &mut Vec<ast::Field>) -> bool {
        let specs = &declaration.specs;
        let mut complete = true;
        self.specifiers(specs, &[]);
        if declaration.declarators.is_empty() {
            if !matches!(specs.base, Base::Union) {
                self.fault(declaration.span, Rule::StructField, "a field without a name");
            }
            return false;
        }
        for init in &declaration.declarators {
            if let Some(bits) = init.bits {
                self.fault(bits, Rule::BitField, "a field of some bits");
                complete = false;
            }
            let field = self.struct_field(specs, init);
            complete &= field.is_some();
            if let (Some(field), Some(name)) = (field, &init.declarator.name) {
                if fields.iter().any(|known| known.name == field.name) {
                    self.fault(
                        name.span,
                        Rule::Redeclared,
                        format!("field `{}` is declared a second time", field.name),
                    );
                } else if !self.clashes_with_macro(name) {
                    fields.push(field);
                }
            }
        }
        complete
    }

    fn struct_field(&mut self, specs: &Specs, init: &InitDeclarator) -> Option<ast::Field> {
        let declarator = &init.declarator;
        if !self.no_pointers(declarator) {
            return None;
        }
        let width = match &specs.base {
            Base::Struct(_) => {
                self.fault(specs.base_span, Rule::StructField, "a struct inside a struct");
                return None;
            }
            _ => self.scalar_base(specs, "a field")?,
        };
        let name = declarator.name.as_ref()?;
        let size = match &declarator.parts[..] {
            [] => None,
            [Part::Array(size, span)] => Some(self.array_size(size.as_deref(), *span)?),
            _ => {
                self.fault(declarator.span, Rule::StructField, "a field that is more than one array of scalars");
                return None;
            }
        };
        Some(ast::Field { name: name.text.to_string(), width, size, span: name.span })
    }

    fn shape(&self, size: Option<u64>, element: ElementType) -> Shape {
        let element = match element {
            ElementType::Scalar(width) => Shape::Scalar(width),
            ElementType::Array(width, inner) => Shape::Array(Box::new(Shape::Scalar(width)), inner),
            ElementType::Struct(id) => {
                let fields = self.unit.structs[id.0].fields.iter();
                Shape::Fields(
                    fields
                        .map(|field| match field.size {
                            None => Shape::Scalar(field.width),
                            Some(size) => Shape::Array(Box::new(Shape::Scalar(field.width)), size),
                        })
                        .collect(),
                )
            }
        };
        match size {
            None => element,
            Some(size) => Shape::Array(Box::new(element), size),
        }
    }

    fn initial_values(
        &mut self,
        size: Option<u64>,
        element: ElementType,
        initialiser: &Initialiser,
    ) -> Vec<(u64, u64)> {
        let shape = self.shape(size, element);
        let mut values = Vec::new();
        self.fill(&shape, initialiser, 0, &mut values);
        values.retain(|(_, value)| *value != 0);
        values.sort_unstable();
        if let Some(pair) = values.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            self.fault(initialiser.span(), Rule::Initialiser, format!("scalar {} has two first values", pair[0].0));
        }
        values
    }

    fn fill(&mut self, shape: &Shape, initialiser: &Initialiser, first: u64, values: &mut Vec<(u64, u64)>) {
        match (shape, initialiser) {
            (Shape::Scalar(width), Initialiser::Value(expr)) => {
                let outer = self.constant_rule.replace(Rule::Initialiser);
                let value = self.value(expr, *width, "this element");
                self.constant_rule = outer;
                let Some(value) = value else { return };
                match super::constant::fold(&value) {
                    Some(value) => values.push((first, value)),
                    None => self.fault(expr.span, Rule::Initialiser, "this is no constant"),
                }
            }
            (Shape::Array(element, size), Initialiser::List(elements, _)) => {
                let mut next = 0;
                for item in elements {
                    if let Some(name) = &item.field {
                        self.fault(name.span, Rule::Initialiser, "an array has no fields");
                    }
                    if let Some(index) = &item.index {
                        let Some(index) = self.constant(index, Rule::Initialiser) else { return };
                        next = index.value;
                    }
                    if next >= *size {
                        let message = format!("element {next} of an array of {size}");
                        self.fault(item.value.span(), Rule::Initialiser, message);
                        return;
                    }
                    let at = first.saturating_add(next.saturating_mul(element.scalars()));
                    self.fill(element, &item.value, at, values);
                    next += 1;
                }
            }
            (Shape::Fields(fields), Initialiser::List(elements, span)) => {
                let mut at = first;
                if elements.len() > fields.len() {
                    self.fault(*span, Rule::Initialiser, "more values than fields");
                }
                for (field, item) in fields.iter().zip(elements) {
                    if item.field.is_some() || item.index.is_some() {
                        let message = "fields are initialised in their order, without names";
                        self.fault(item.value.span(), Rule::Initialiser, message);
                    }
                    self.fill(field, &item.value, at, values);
                    at = at.saturating_add(field.scalars());
                }
            }
            (Shape::Scalar(_), Initialiser::List(_, span)) => {
                self.fault(*span, Rule::Initialiser, "a list where one constant belongs");
            }
            (_, Initialiser::Value(expr)) => {
                // `= {0}` over structs: one zero for everything.
                let zero = matches!(&expr.kind, crate::syntax::ExprKind::Number(text) if &**text == "0") && first == 0;
                if !zero {
                    self.fault(expr.span, Rule::Initialiser, "a list in braces belongs here");
                }
            }
        }
    }

    /// Looks for faults in the initialiser of an object that was refused.
    fn quiet_initialiser(&mut self, initialiser: &Option<Initialiser>) {
        if let Some(Initialiser::Value(expr)) = initialiser {
            let outer = self.constant_rule.replace(Rule::Initialiser);
            self.operand(expr);
            self.constant_rule = outer;
        }
    }
}
