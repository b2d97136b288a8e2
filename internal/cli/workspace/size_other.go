//go:build !unix

package workspace

import "github.com/holdfast-dev/holdfast/internal/supervisor"

// watchSize tells nothing: no signal says here that a terminal has another size.
func watchSize(int) (sizes <-chan supervisor.Size, stop func()) { return nil, func() {} }
