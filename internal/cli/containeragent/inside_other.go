//go:build !unix

package containeragent

import (
	"errors"
	"io"
)

// hostStream fails: agent containers run Linux.
func hostStream() (io.ReadWriteCloser, error) { return nil, errors.New("not running in a container") }
