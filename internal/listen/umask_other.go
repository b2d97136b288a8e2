//go:build !unix

package listen

func private(do func() error) error { return do() }
