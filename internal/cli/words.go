package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/transcript"
)

// count writes "1 item" or "3 items".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func tokens(u transcript.Usage) string {
	n := u.Input + u.CacheRead + u.CacheWrite + u.Output
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM tokens", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk tokens", float64(n)/1e3)
	}
	return count(int(n), "token")
}

func dollars(usd float64) string {
	if usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// age writes how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// fit makes text one line of at most n characters.
func fit(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	return clipWidth(shown(s), max(n, 10))
}

// quoteArg quotes a word for a POSIX shell when it needs it.
func quoteArg(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// headline is the part of a tool's input that says most about a call.
func headline(name string, input json.RawMessage, cwd string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return string(input)
	}
	for _, key := range headlinesOf(name) {
		var s string
		if raw, ok := in[key]; ok && json.Unmarshal(raw, &s) == nil {
			if key == "command" {
				return s
			}
			return strings.TrimPrefix(s, cwd+"/")
		}
	}
	if len(in) == 0 {
		return ""
	}
	if name == approval.AskTool {
		return headers(input)
	}
	return string(input)
}

// headers are what the model's questions are about.
func headers(input json.RawMessage) string {
	var in struct {
		Questions []approval.Choice `json:"questions"`
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	var list []string
	for _, c := range in.Questions {
		list = append(list, c.Header)
	}
	return strings.Join(list, ", ")
}

// headlinesOf are the fields of a tool's calls that say what they are about.
func headlinesOf(name string) []string {
	switch name {
	case "EnterWorktree":
		return []string{"name", "path"}
	case "ExitWorktree":
		return []string{"action"}
	case "ExitPlanMode":
		return []string{"mode", "plan"}
	}
	return headlines
}

// headlines are the fields that say what a call is about, the first that is there.
var headlines = []string{
	"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "skill", "taskId", "task_id", "subject", "to", "description",
}

// column pads or cuts s to n characters.
func column(s string, n int) string {
	s = clipWidth(s, n)
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
