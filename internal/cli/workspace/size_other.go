//go:build !unix

package workspace

import "github.com/holdfast-dev/holdfast/internal/supervisor"

// watchSize does nothing: this system has no signal for a changed terminal size.
func watchSize(int) (sizes <-chan supervisor.Size, stop func()) { return nil, func() {} }
