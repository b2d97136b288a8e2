package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/pager"
)

// changesCommand lists what is not committed. A repository's settings cannot make git start programs, and
// git runs in the sandbox.
const changesCommand = `git -c core.fsmonitor=false -c core.quotePath=false diff --no-ext-diff --no-textconv --no-color HEAD -- . 2>/dev/null ||
git -c core.fsmonitor=false -c core.quotePath=false diff --no-ext-diff --no-textconv --no-color --cached -- . || exit
git -c core.fsmonitor=false -c core.quotePath=false ls-files --others --exclude-standard -- . | sed 's/^/new file: /'`

// showChanges shows the changes of the project that are not committed, one section for each file.
func (u *ui) showChanges(string) {
	u.say("changes …")
	u.later(func(ctx context.Context) func() {
		out, err := u.cli(ctx, "sandbox", "exec", "--", "sh", "-c", changesCommand)
		return func() {
			u.tip = ""
			switch {
			case err != nil:
				u.fail("changes", err)
			case strings.TrimSpace(out) == "":
				u.say("everything is committed")
			default:
				u.page = pager.New(&pager.Options{Keys: u.keys, Title: "changes", Sections: u.changedFiles(out)})
			}
		}
	})
}

// changedFiles returns the sections of a diff, and one with the new files.
func (u *ui) changedFiles(out string) (sections []pager.Section) {
	var diff strings.Builder
	var fresh []string
	for l := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(l, "new file: "); ok {
			fresh = append(fresh, strings.TrimSpace(name))
		} else {
			diff.WriteString(l)
		}
	}
	for i, part := range strings.Split("\n"+diff.String(), "\ndiff --git ") {
		if i == 0 { // before the first file
			continue
		}
		head, body, hunks := strings.Cut(part, "\n@@")
		first, rest, _ := strings.Cut(head, "\n")
		_, name, _ := strings.Cut(first, " b/")
		lines := func(width int) []string { return u.look.Changes("@@"+body, width) }
		if !hunks { // a new mode or name, or a binary file
			lines = func(width int) []string { return folded(term.EscapeStrict(rest), width) }
		}
		sections = append(sections, pager.Section{Title: term.EscapeStrict(name), Lines: lines})
	}
	if len(fresh) > 0 {
		sections = append(sections, pager.Section{Title: term.Count(len(fresh), "new file"), Lines: func(width int) (lines []string) {
			for _, f := range fresh {
				lines = append(lines, fit(term.EscapeStrict(f), width))
			}
			return lines
		}})
	}
	return sections
}

// copyAnswer copies the newest answer of the model.
func (u *ui) copyAnswer(string) {
	if u.notify.off {
		u.say("this terminal cannot copy; /transcript shows the answer")
		return
	}
	for i := len(u.blocks) - 1; i >= 0; i-- {
		if b := u.blocks[i]; b.Kind == conversation.Answer && b.Agent == "" {
			u.notify.copyText(b.Text)
			u.say(fmt.Sprintf("copied %s", term.Count(strings.Count(b.Text, "\n")+1, "line")))
			return
		}
	}
	u.say("there is no answer to copy")
}
