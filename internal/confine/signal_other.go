//go:build !unix

package confine

import "os"

var (
	forwardedSignals = []os.Signal{os.Interrupt}
	keyboardSignals  []os.Signal
)
