// All modules of the core: the build puts their names here, see core.mjs.
