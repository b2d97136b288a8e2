//go:build !linux

package listen

// Subreaper is not supported here: orphaned processes belong to process 1.
type Subreaper struct{}

// StartSubreaper does nothing here.
func StartSubreaper() (*Subreaper, error) { return &Subreaper{}, nil }

// Close does nothing here.
func (*Subreaper) Close() {}
