//go:build !linux

package diskfile

import (
	"errors"
	"fmt"
	"os"
)

// MemFile is not supported on this system.
func MemFile(name string, _ []byte) (*os.File, error) {
	return nil, fmt.Errorf("%s: files in memory are not supported: %w", name, errors.ErrUnsupported)
}
