package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// process runs the program of credential_process without a shell. It parses the keys that the
// program prints.
//
// Source: "Sourcing credentials with an external process", AWS CLI user guide.
func process(ctx context.Context, command string) (found, error) {
	const hint = "run the command of credential_process yourself"
	args, err := splitCommand(command)
	if err != nil {
		return found{}, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			if line, _, _ := bytes.Cut(bytes.TrimSpace(exit.Stderr), []byte("\n")); len(line) > 0 {
				err = fmt.Errorf("%w: %.200s", err, line)
			}
		}
		return found{}, &Error{Err: fmt.Errorf("%s: %w", args[0], err), Hint: hint}
	}
	var a struct {
		Version                                    int
		AccessKeyID, SecretAccessKey, SessionToken string
		Expiration                                 time.Time
	}
	if err := json.Unmarshal(out, &a); err != nil {
		// An error of encoding/json may contain the output, which contains keys.
		return found{}, &Error{Err: fmt.Errorf("%s did not print a JSON object with keys", args[0]), Hint: hint}
	}
	switch {
	case a.Version != 1:
		return found{}, &Error{Err: fmt.Errorf("%s printed Version %d, not 1", args[0], a.Version), Hint: hint}
	case a.AccessKeyID == "" || a.SecretAccessKey == "":
		return found{}, &Error{Err: fmt.Errorf("%s did not print AccessKeyId and SecretAccessKey", args[0]), Hint: hint}
	}
	return found{sigv4.Keys{ID: a.AccessKeyID, Secret: a.SecretAccessKey, Token: a.SessionToken}, a.Expiration}, nil
}

// splitCommand splits a command at blanks outside of quotation marks.
func splitCommand(command string) (args []string, err error) {
	var b strings.Builder
	quoted, some := false, false
	for _, c := range command {
		switch {
		case c == '"':
			quoted, some = !quoted, true
		case !quoted && (c == ' ' || c == '\t'):
			if some {
				args = append(args, b.String())
			}
			b.Reset()
			some = false
		default:
			b.WriteRune(c)
			some = true
		}
	}
	if some {
		args = append(args, b.String())
	}
	if quoted || len(args) == 0 || args[0] == "" {
		return nil, errors.New("credential_process is not a command")
	}
	return args, nil
}
