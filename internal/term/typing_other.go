//go:build !linux

package term

import (
	"errors"
	"os"
)

type rawMode struct{}

func (*rawMode) enter(*os.File) error { return errors.ErrUnsupported }

func (*rawMode) leave() {}

func inForeground(*os.File) bool { return true }

func waitInput(*os.File) bool { return true }

func stopSelf() {}

func quitSelf() {}
