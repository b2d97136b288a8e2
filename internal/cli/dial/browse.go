package dial

import (
	"cmp"
	"context"
	"os/exec"
	"runtime"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// Browse opens a page in the desktop's browser.
func Browse(ctx context.Context, url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return &outcome.Failure{Message: name + ": " + term.OneLine(cmp.Or(string(out), err.Error())), Advice: "open the link yourself", Result: outcome.Failed, Cause: err}
	}
	return nil
}
