package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// canUseRipgrep reports whether ripgrep can be used for this pattern. The syntax of ripgrep is
// nearly the same as Go's. For patterns where it differs, only Go's regexp is used.
func (b *batch) canUseRipgrep() bool {
	if b.ripgrep == "none" || runtime.GOOS != "linux" || b.matcher.byLine {
		return false
	}
	p := b.matcher.in.Pattern
	for _, special := range []string{`\p`, `\P`, `\C`, `\Q`, `\E`, "(?", "&&", "--", "~~", "[["} {
		if strings.Contains(p, special) {
			return false
		}
	}
	for i := range len(p) {
		if p[i] >= 0x80 {
			return false
		}
	}
	return true
}

// ripgrepFilter runs ripgrep to determine which files of the batch may match. It runs ripgrep
// without configuration and with an empty environment. It passes open file descriptors, so that a
// link cannot redirect ripgrep. ok is false if ripgrep failed.
func (b *batch) ripgrepFilter() (chosen map[int]bool, ok bool) {
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	in := b.matcher.in
	args := []string{
		"--no-config", "--files-with-matches", "--color=never", "--no-messages", "--no-unicode", "--crlf",
		"--text", "--encoding=none", "--no-mmap", "--sort=none",
	}
	if in.IgnoreCase {
		args = append(args, "--ignore-case")
	}
	if in.Multiline {
		args = append(args, "--multiline", "--multiline-dotall")
	}
	args = append(args, "--regexp="+in.Pattern, "--")
	cmd := exec.CommandContext(ctx, b.ripgrep)
	for i, f := range b.files {
		args = append(args, fmt.Sprintf("/proc/self/fd/%d", 3+i))
		cmd.ExtraFiles = append(cmd.ExtraFiles, f.in)
	}
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 { // 1 means no match
		return nil, false
	}
	chosen = map[int]bool{}
	for line := range bytes.Lines(out) {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(string(line)), "/proc/self/fd/"))
		if err != nil || n < 3 {
			return nil, false
		}
		chosen[n-3] = true
	}
	return chosen, true
}
