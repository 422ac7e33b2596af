package format

import "errors"

// ErrUnknown is wrapped by Open's error when the content of a file looks like
// none of the formats: package judge leaves such files out of a directory.
var ErrUnknown = errors.New("format is not known")
