/* What shows a guest that it is one, feature by feature: the description can leave each out (arg.paravirtual). */
#ifndef VMM_FEATURES_H
#define VMM_FEATURES_H

#define FEATURE_CLOCK 1u  /* KVM's clock: a page that says what the TSC counts */
#define FEATURE_END 2u    /* KVM's end of interrupts by a word of memory */
#define FEATURE_X2APIC 4u /* the local controller's registers as model-specific ones */

#endif
