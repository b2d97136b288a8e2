//go:build !unix

package confine

import "os"

var (
	relayed = []os.Signal{os.Interrupt}
	keyed   []os.Signal
)
