// Command execonly is `holdfast sandbox exec` and nothing else, with what that links:
// the control for what it costs to be part of a large program. Go initializes every
// package that is linked before main begins, or nearly: package first runs among them.
package main

import (
	"fmt"
	"os"

	_ "github.com/holdfast-dev/holdfast/internal/confine/first" // runs it, and ends
)

func main() {
	fmt.Fprintln(os.Stderr, "execonly: use: execonly sandbox exec -- COMMAND")
	os.Exit(2)
}
