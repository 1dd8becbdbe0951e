//! Declarations: specifiers, declarators, structs, enums, initialisers, function definitions.

use super::{is_reserved, scalar, Broken, Parsed, Parser};
use crate::lex::TokenKind;
use crate::rule::Rule;
use crate::syntax::*;
use crate::words::is_foreign_type;

impl Parser<'_> {
    /// The next token can only begin a declaration.
    pub(super) fn starts_declaration(&self) -> bool {
        let Some(name) = self.token().name() else { return false };
        let specifier = matches!(
            name,
            "static"
                | "extern"
                | "typedef"
                | "inline"
                | "__inline"
                | "__inline__"
                | "const"
                | "auto"
                | "volatile"
                | "restrict"
                | "register"
                | "_Atomic"
                | "_Thread_local"
                | "_Noreturn"
                | "_Alignas"
                | "__attribute__"
                | "__extension__"
        );
        // Two names in a row: the first is meant as a type.
        let unknown_type =
            !is_reserved(name) && self.ahead(1).name().is_some_and(|next| !is_reserved(next)) && !self.ahead(1).first;
        specifier || self.starts_type() || unknown_type
    }

    pub(super) fn starts_type(&self) -> bool {
        let Some(name) = self.token().name() else { return false };
        scalar(name).is_some()
            || matches!(name, "void" | "struct" | "union" | "enum" | "const" | "volatile")
            || (is_foreign_type(name) && !self.ahead(1).is("="))
            || self.types.contains(name)
    }

    pub(super) fn item(&mut self) -> Parsed<Option<Item>> {
        if self.take(";") {
            return Ok(None);
        }
        if self.is_name("_Static_assert") || self.is_name("static_assert") {
            return self.static_assert().map(Some);
        }
        if self.is_name("asm") || self.is_name("__asm__") || self.is_name("__asm") {
            self.skip_assembly();
            return Ok(None);
        }
        let start = self.span();
        let specs = self.specs()?;
        if matches!(specs.base, Base::Missing)
            && specs.specifiers.is_empty()
            && !matches!(self.token().kind, TokenKind::Name(_))
        {
            return self.expected("a declaration");
        }
        if self.take(";") {
            let span = start.to(self.last_span());
            return Ok(Some(Item::Declaration(Declaration { specs, declarators: Vec::new(), span })));
        }
        let declarator = self.declarator()?;
        let is_function = matches!(declarator.parts.first(), Some(Part::Function(_)));
        if is_function && self.is("{") {
            let body = if self.trusted() {
                self.next();
                self.skip_to_closing("{", "}");
                None
            } else {
                Some(self.function_body()?)
            };
            return Ok(Some(Item::Function(Function { specs, declarator, body })));
        }
        let declaration = self.declaration_rest(specs, Some(declarator))?;
        Ok(Some(Item::Declaration(declaration)))
    }

    pub(super) fn static_assert(&mut self) -> Parsed<Item> {
        let start = self.span();
        self.next();
        self.expect("(")?;
        let condition = self.assignment()?;
        if self.take(",") {
            match self.token().kind {
                TokenKind::Str(_) => self.next(),
                _ => return self.expected("a string"),
            }
        }
        self.expect(")")?;
        self.expect(";")?;
        Ok(Item::StaticAssert(condition, start.to(self.last_span())))
    }

    pub(super) fn skip_assembly(&mut self) {
        self.fault(self.span(), Rule::Extension, "inline assembly");
        self.next();
        while self.token().name().is_some() {
            self.next();
        }
        if self.take("(") {
            self.skip_to_closing("(", ")");
        }
        self.take(";");
    }

    /// Passes `__attribute__((...))` where it stands.
    pub(super) fn attributes(&mut self) {
        while matches!(self.token().name(), Some("__attribute__" | "__attribute" | "__extension__" | "asm" | "__asm__"))
        {
            self.fault(self.span(), Rule::Extension, "compiler extensions have no meaning in the subset");
            self.next();
            if self.take("(") {
                self.skip_to_closing("(", ")");
            }
        }
    }

    pub(super) fn specs(&mut self) -> Parsed<Specs> {
        let start = self.span();
        let mut specs =
            Specs { specifiers: Vec::new(), alignment: None, base: Base::Missing, base_span: start, span: start };
        let mut foreign: Vec<String> = Vec::new();
        loop {
            self.attributes();
            let span = self.span();
            let Some(name) = self.token().name() else { break };
            let specifier = match name {
                "static" => Specifier::Static,
                "extern" => Specifier::Extern,
                "typedef" => Specifier::Typedef,
                "inline" | "__inline" | "__inline__" => Specifier::Inline,
                "const" => Specifier::Const,
                "auto" => Specifier::Auto,
                "volatile" | "restrict" | "register" | "_Thread_local" | "_Noreturn" | "__volatile__" => {
                    Specifier::Other
                }
                "_Atomic" => {
                    self.next();
                    specs.specifiers.push((Specifier::Other, span));
                    // _Atomic(type)
                    if self.take("(") {
                        self.skip_to_closing("(", ")");
                        foreign.push("_Atomic".to_string());
                    }
                    continue;
                }
                "_Alignas" => {
                    self.next();
                    self.expect("(")?;
                    specs.alignment = Some(self.assignment()?);
                    self.expect(")")?;
                    continue;
                }
                _ => {
                    let has_base = !matches!(specs.base, Base::Missing);
                    if !has_base && self.base(&mut specs)? {
                        specs.base_span = span.to(self.last_span());
                        continue;
                    }
                    let follows_foreign = foreign.is_empty() || self.starts_type();
                    let guess = foreign.is_empty() && !has_base && self.starts_declaration();
                    if (is_foreign_type(name) && follows_foreign) || self.types.contains(name) && !has_base || guess {
                        if foreign.is_empty() && !has_base {
                            specs.base_span = span;
                        }
                        specs.base_span = specs.base_span.to(span);
                        foreign.push(name.to_string());
                        self.next();
                        continue;
                    }
                    break;
                }
            };
            self.next();
            specs.specifiers.push((specifier, span));
        }
        if !foreign.is_empty() {
            specs.base = Base::Other(foreign.join(" "));
        }
        specs.span = start.to(self.last_span());
        Ok(specs)
    }

    /// A type of the subset's own kinds; false if none stands here.
    fn base(&mut self, specs: &mut Specs) -> Parsed<bool> {
        let Some(name) = self.token().name() else { return Ok(false) };
        if let Some(width) = scalar(name) {
            self.next();
            specs.base = Base::Scalar(width);
            return Ok(true);
        }
        match name {
            "void" => {
                self.next();
                specs.base = Base::Void;
            }
            "struct" | "union" => {
                let keyword = self.span();
                let is_union = name == "union";
                self.next();
                self.attributes();
                let tag = if self.is("{") { None } else { Some(self.name()?) };
                let fields = if self.take("{") { Some(self.fields()?) } else { None };
                self.attributes();
                if is_union {
                    self.fault(keyword, Rule::Union, "a union");
                    specs.base = Base::Union;
                } else {
                    specs.base = Base::Struct(StructSpec { tag, fields });
                }
            }
            "enum" => {
                self.next();
                if !self.is("{") {
                    self.name()?;
                }
                let constants = if self.take("{") { Some(self.enumerators()?) } else { None };
                specs.base = Base::Enum(EnumSpec { constants });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn fields(&mut self) -> Parsed<Vec<Declaration>> {
        self.enter()?;
        let depth = self.depth;
        let mut fields = Vec::new();
        while !self.is("}") && !self.at_end() && !self.at_new_item() {
            let specs = self.specs();
            match specs.and_then(|specs| self.declaration_rest(specs, None)) {
                Ok(field) => fields.push(field),
                Err(Broken) => self.skip_statement(),
            }
            self.depth = depth;
        }
        self.leave();
        self.expect("}")?;
        Ok(fields)
    }

    fn enumerators(&mut self) -> Parsed<Vec<(Name, Option<Expr>)>> {
        let mut constants = Vec::new();
        while !self.is("}") {
            let name = self.name()?;
            let value = if self.take("=") { Some(self.conditional()?) } else { None };
            constants.push((name, value));
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(constants)
    }

    /// The declarators behind the specifiers, up to the semicolon; the first may be parsed already.
    pub(super) fn declaration_rest(&mut self, specs: Specs, first: Option<Declarator>) -> Parsed<Declaration> {
        let mut declarators = Vec::new();
        let mut first = first;
        while !(declarators.is_empty() && first.is_none() && self.is(";")) {
            let declarator = match first.take() {
                Some(declarator) => declarator,
                None => self.declarator()?,
            };
            if declarator.name.is_none() && !self.is(":") {
                return self.expected("a name");
            }
            let colon = self.span();
            let bits = if self.take(":") {
                self.conditional()?;
                Some(colon.to(self.last_span()))
            } else {
                None
            };
            self.attributes();
            let initialiser = if self.take("=") { Some(self.initialiser()?) } else { None };
            if specs.find(Specifier::Typedef).is_some() {
                self.types.extend(declarator.name.iter().map(|name| name.text.clone()));
            }
            declarators.push(InitDeclarator { declarator, bits, initialiser });
            if !self.take(",") {
                break;
            }
        }
        self.expect(";")?;
        let span = specs.span.to(self.last_span());
        Ok(Declaration { specs, declarators, span })
    }

    fn initialiser(&mut self) -> Parsed<Initialiser> {
        let start = self.span();
        if !self.take("{") {
            return Ok(Initialiser::Value(self.assignment()?));
        }
        self.enter()?;
        let mut elements = Vec::new();
        while !self.is("}") {
            let mut element = Element { index: None, field: None, value: Initialiser::List(Vec::new(), start) };
            if self.take("[") {
                element.index = Some(self.conditional()?);
                self.expect("]")?;
                self.expect("=")?;
            } else if self.take(".") {
                element.field = Some(self.name()?);
                self.expect("=")?;
            }
            element.value = self.initialiser()?;
            elements.push(element);
            if !self.take(",") {
                break;
            }
        }
        self.leave();
        self.expect("}")?;
        Ok(Initialiser::List(elements, start.to(self.last_span())))
    }

    /// A declarator, with or without a name.
    pub(super) fn declarator(&mut self) -> Parsed<Declarator> {
        self.enter()?;
        let start = self.span();
        self.attributes();
        let mut pointers = Vec::new();
        while self.is("*") {
            pointers.push(Part::Pointer(self.span()));
            self.next();
            while matches!(self.token().name(), Some("const" | "volatile" | "restrict" | "_Atomic")) {
                self.next();
            }
        }
        let mut declarator = Declarator { name: None, parts: Vec::new(), span: start };
        let nested = self.is("(") && (self.ahead(1).is("*") || self.ahead(1).is("("));
        if nested {
            self.next();
            declarator = self.declarator()?;
            self.expect(")")?;
        } else if matches!(&self.token().kind, TokenKind::Name(name) if !is_reserved(name)) {
            declarator.name = Some(self.name()?);
        }
        loop {
            let open = self.span();
            if self.take("[") {
                let size = if self.is("]") { None } else { Some(Box::new(self.conditional()?)) };
                self.expect("]")?;
                declarator.parts.push(Part::Array(size, open.to(self.last_span())));
            } else if self.take("(") {
                let parameters = self.parameters(open)?;
                declarator.parts.push(Part::Function(parameters));
            } else {
                break;
            }
        }
        self.attributes();
        declarator.parts.extend(pointers);
        if self.span() != start {
            declarator.span = start.to(self.last_span());
        }
        self.leave();
        Ok(declarator)
    }

    /// Parameters behind the opening parenthesis.
    fn parameters(&mut self, open: crate::source::Span) -> Parsed<Parameters> {
        let mut parameters = Parameters { list: Vec::new(), variadic: None, unspecified: false, span: open };
        if self.take(")") {
            parameters.unspecified = true;
            parameters.span = open.to(self.last_span());
            return Ok(parameters);
        }
        if self.is_name("void") && self.ahead(1).is(")") {
            self.next();
            self.next();
            parameters.span = open.to(self.last_span());
            return Ok(parameters);
        }
        loop {
            if self.is("...") {
                parameters.variadic = Some(self.span());
                self.next();
                break;
            }
            if !self.starts_declaration() && !matches!(self.token().kind, TokenKind::Name(_)) {
                return self.expected("a parameter");
            }
            let specs = self.specs()?;
            let declarator = self.declarator()?;
            parameters.list.push(Parameter { specs, declarator });
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        parameters.span = open.to(self.last_span());
        Ok(parameters)
    }
}
