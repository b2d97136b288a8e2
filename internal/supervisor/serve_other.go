//go:build !linux

package supervisor

import "context"

// Serve returns [ErrUnsupported]: what runs in a container runs on Linux.
func Serve(context.Context, ServeOptions) error { return ErrUnsupported }

// Attach returns [ErrUnsupported].
func Attach(context.Context, AttachOptions) error { return ErrUnsupported }
