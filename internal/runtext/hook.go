package runtext

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// projectDir matches the variable for the project's folder in hook commands.
var projectDir = lazyregexp.Must(`("?)\$(?:CLAUDE_PROJECT_DIR|\{CLAUDE_PROJECT_DIR\})("?)/`)

// HookName returns a hook's name without the path of the project's folder, because that path is the
// same for all hooks.
func HookName(name string) string {
	return projectDir().ReplaceAllStringFunc(name, func(s string) string {
		if strings.HasPrefix(s, `"`) && !strings.HasSuffix(s, `"/`) {
			return `"` // the file's name is quoted, too
		}
		return ""
	})
}

// HookLabel returns a short hook name for use in a line.
func HookLabel(name string) string { return term.Truncate(HookName(name), 40) }

// KeepsWorking returns a text for each hook that made the agent continue after its answer.
func KeepsWorking(ran record.HookRan) (list []string) {
	if ran.Event != string(hook.Stop) && ran.Event != string(hook.SubagentStop) {
		return nil
	}
	for _, r := range ran.Hooks {
		if r.Effect == "block" {
			list = append(list, fmt.Sprintf("hook %s keeps the agent working: %s", HookLabel(r.Name), cmp.Or(r.Reason, "continue")))
		}
	}
	return list
}

// HookFailed reports whether a message of a hook says that the hook failed.
func HookFailed(ran record.HookRan, n record.HookNotice) bool {
	return slices.ContainsFunc(ran.Hooks, func(r record.HookRun) bool { return r.Name == n.Hook && r.Error != "" })
}
