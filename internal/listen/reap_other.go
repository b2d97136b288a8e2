//go:build !linux

package listen

// Subreaper is not supported here: orphaned processes belong to process 1.
type Subreaper struct{}

// Adopt does nothing here.
func Adopt() (*Subreaper, error) { return &Subreaper{}, nil }

// Close does nothing here.
func (*Subreaper) Close() {}
