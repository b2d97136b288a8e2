//go:build !linux

package term

import (
	"errors"
	"os"
)

type rawMode struct{}

func (*rawMode) enter(*os.File, bool) error { return errors.ErrUnsupported }

func (*rawMode) leave() {}

func inForeground(*os.File) bool { return true }

func unread(*os.File) int { return 0 }

func waitInput(*os.File) bool { return true }

func stopSelf() {}

func quitSelf() {}
