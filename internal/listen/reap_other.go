//go:build !linux

package listen

// Subreaper is not possible here: what outlives its parent belongs to the first process.
type Subreaper struct{}

// Adopt does nothing here.
func Adopt() (*Subreaper, error) { return &Subreaper{}, nil }

// Close does nothing here.
func (*Subreaper) Close() {}
