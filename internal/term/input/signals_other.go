//go:build !unix

package input

import (
	"errors"
	"os"
)

func watch() (signals <-chan os.Signal, done func()) { return nil, func() {} }

func isContinue(os.Signal) bool { return false }

func stopProcess() error { return errors.ErrUnsupported }
