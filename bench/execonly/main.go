// Command execonly is `holdfast sandbox exec` alone, with only the packages that this command
// links. It is the control for the cost of being part of a large program. Go initializes every
// linked package before main begins; only the package first runs earlier.
package main

import (
	"fmt"
	"os"

	_ "github.com/holdfast-dev/holdfast/internal/confine/first" // runs it, and exits
)

func main() {
	fmt.Fprintln(os.Stderr, "execonly: use: execonly sandbox exec -- COMMAND")
	os.Exit(2)
}
