package tools

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/policy"
)

const (
	maxMentioned = 10       // files of one command
	maxMention   = 40 << 10 // bytes of one file
)

// mention is one @PATH in the text of a command.
var mention = lazyregexp.Must("(?:\\A|[\\s(])@([^\\s@`\"'(){}<>|*?$]+)")

// mentioned returns the files that the text of a command names by @PATH, for the model to read
// after it. If reading a file needs no approval, its content is included, otherwise the reason why
// not. An @ that names no file is plain text.
func (b *Toolbox) mentioned(ctx context.Context, a *agent.Agent, text string) string {
	var out strings.Builder
	var seen []string
	for _, m := range mention().FindAllStringSubmatch(text, -1) {
		path := strings.TrimRight(m[1], ".,;:!")
		if path == "" || slices.Contains(seen, path) || len(seen) == maxMentioned {
			continue
		}
		content, why, found := b.readMentioned(ctx, a, path)
		if !found {
			continue
		}
		seen = append(seen, path)
		if why != "" {
			fmt.Fprintf(&out, "\n\n[@%s is not included: %s]", path, why)
			continue
		}
		fmt.Fprintf(&out, "\n\n<file path=%q>\n%s\n</file>", path, content)
	}
	return out.String()
}

// readMentioned reads a file that a command names. If the file is not included, the result why is
// the reason.
func (b *Toolbox) readMentioned(ctx context.Context, a *agent.Agent, path string) (content, why string, found bool) {
	p, err := b.folders.Locate(path)
	if err != nil {
		return "", "", false
	}
	info, err := p.Stat()
	if err != nil || info.IsDir() {
		return "", "", false
	}
	d := a.Guards().Guard("Read").Judge(ctx, []policy.Request{{Tool: "Read", Operation: policy.OpRead, Resource: p.Abs, NamedPath: p.Named, ReadOnly: true, Cwd: b.folders.Cwd()}}, nil)
	if d.Effect != policy.Allow {
		return "", "reading it requires approval; read it with Read", true
	}
	f, _, err := p.Open()
	if err != nil {
		return "", err.Error(), true
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMention+1))
	switch {
	case err != nil:
		return "", err.Error(), true
	case len(data) > maxMention:
		return "", fmt.Sprintf("it is larger than %d KiB; read it with Read", maxMention>>10), true
	case !utf8.Valid(data):
		return "", "it is not text", true
	}
	return strings.TrimRight(string(data), "\n"), "", true
}

// sameModel reports whether a model name in a command means the run's model.
func (b *Toolbox) sameModel(a *agent.Agent, name string) bool {
	current := a.Model().Info()
	if full, ok := aliases[name]; ok {
		name = full
	}
	return name == current.Model || name == current.Provider+"/"+current.Model
}
