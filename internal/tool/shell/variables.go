package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// variablesName is the variable that passes the script to the shell; it is unset before the script runs.
const variablesName = "HOLDFAST_VARIABLES"

// maxVariables is the maximum size of the script. The kernel allows 128 KiB for one variable.
const maxVariables = 64 << 10

// variables reads the script that runs at the start of commands.
func (s *Shell) variables() (string, error) {
	if s.opts.EnvFile == "" {
		return "", nil
	}
	f, err := os.Open(s.opts.EnvFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the environment variables set by hooks: %w", syscallNames(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxVariables+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the environment variables set by hooks: %w", syscallNames(err))
	case len(b) > maxVariables:
		return "", fmt.Errorf("the script with the environment variables set by hooks is larger than %d KiB", maxVariables>>10)
	case bytes.IndexByte(b, 0) >= 0:
		return "", errors.New("the script with the environment variables set by hooks contains a NUL")
	}
	return strings.TrimSpace(string(b)), nil
}

// preamble returns the text that precedes the command. It is on the first line of the command, so that
// line numbers do not change. The script's output and exit status are discarded.
func (c command) preamble() string {
	if c.variables == "" {
		return ""
	}
	return `eval "unset ` + variablesName + `; $` + variablesName + `" >/dev/null;:;`
}
