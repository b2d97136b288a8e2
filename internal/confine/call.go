package confine

import (
	"os"
	"path/filepath"
	"strings"
)

// CurrentProcess returns a call with the environment, folder and streams of this process.
func CurrentProcess(f *Flags) (*Call, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	c := &Call{Flags: f, Env: os.Environ(), Dir: dir, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if h := os.Getenv("HOME"); strings.HasPrefix(h, "/") {
		c.User = strings.TrimRight(h, "/")
	}
	switch h := os.Getenv("HOLDFAST_HOME"); {
	case h != "":
		c.Home, err = filepath.Abs(h)
	case c.User != "":
		c.Home = filepath.Join(c.User, ".holdfast")
	}
	return c, err
}
