// Command execonly is `holdfast sandbox exec` and nothing else, with the packages that it links: the control
// for the cost of being part of a large program. Go initializes every linked package before main begins,
// except that package first runs early.
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
