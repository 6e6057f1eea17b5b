// The header is the module: what it declares is implemented in Sources/HoldfastC.
#include "holdfast.h"
