//go:build linux

package escape

import (
	"fmt"
	"os"
	"testing"
)

// TestMain combines three programs in one binary: see the package's comment.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 {
		switch os.Args[1] {
		case "supervise":
			os.Exit(supervise(os.Args[2]))
		case "probe":
			os.Exit(probe(os.Args[2], os.Args[3:]))
		}
	}
	code := m.Run()
	if s := tally.String(); s != "" {
		fmt.Println(s)
	}
	removeProgram()
	os.Exit(code)
}
