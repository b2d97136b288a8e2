//go:build !linux

package supervisor

import "context"

// Serve returns [ErrUnsupported]: containers run Linux.
func Serve(context.Context, ServeOptions) error { return ErrUnsupported }

// Attach returns [ErrUnsupported].
func Attach(context.Context, AttachOptions) error { return ErrUnsupported }
