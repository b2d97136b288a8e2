package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Text shows a run to a user: the answer on Stdout, everything else on Stderr. A terminal gets the
// answer while the model writes it. A file or a pipe gets the answer only when it is durable, so
// that it never contains an answer that was discarded.
type Text struct {
	Program        *command.Program
	Quiet, Verbose bool
	header         Header

	opened    event.SessionOpened
	printed   bool // part of the current item was already written to the screen
	hasOutput bool // part of the current item was already written to Stdout
	thinking  bool
	open      map[string]string // tools of the calls that are running, keyed by tool use
	parallel  bool              // several calls of this round ran at the same time
	asked     string            // the id of the tool use in the last approval request
	names     map[string]string
	waiting   map[string]transcript.ToolUse // not shown yet
	failures  map[record.HookNotice]bool    // the hook failures that were already reported
}

// Start implements [View].
func (v *Text) Start(s Header) {
	v.header = s
	v.open, v.names, v.waiting = map[string]string{}, map[string]string{}, map[string]transcript.ToolUse{}
	v.Program.Err.Progress().Show("starting")
}

// RenderError implements [View].
func (v *Text) RenderError(err error) error {
	v.Program.Out.EndLine()
	return err
}

// Render implements [View].
func (v *Text) Render(e event.Event) error {
	switch e := e.(type) {
	case event.SessionOpened:
		v.sessionOpened(e)
	case event.TurnStarted:
		v.Program.Err.Progress().Show("waiting for " + term.Escape(v.header.Model))
	case event.TextDelta:
		if v.Program.Out.TTY {
			v.printText(e.Text)
		}
	case event.ThinkingDelta:
		v.printThinking(e.Text)
	case event.ToolInputDelta:
		v.Program.Err.Progress().Show("writing a call of " + term.Escape(e.Tool))
	case event.ItemAppended:
		v.item(e.Item)
	case event.ToolStarted:
		v.toolStarted(e)
	case event.ToolFinished:
		v.toolFinished(e)
	case event.SubagentEvent:
		v.subagent(e)
	case event.DecisionMade:
		v.decided(e.Decision)
	case event.ApprovalAsked:
		v.asked = e.Request.Use
		delete(v.waiting, v.asked)
		v.Program.Err.Progress().Show("")
	case event.ApprovalResolved:
		v.resolved("", e)
	case event.PolicyChanged:
		v.policyChanged(e)
	case event.ModelRetrying:
		v.retrying(e)
	case event.ModelSwitched:
		v.note("%s", runtext.Switched(e))
	case event.CompactionStarted:
		v.Program.Err.Progress().Show("compacting")
	case event.TranscriptRewritten:
		v.rewritten(e)
	case event.HookRan:
		v.hookRan(e)
	case event.TerminalSequences:
		v.terminal(e)
	case event.Notification:
		v.notified(e)
	case event.Notice:
		v.note("%s", e.Text)
	case event.Result:
		v.result(e)
	}
	return nil
}

// rewritten reports a rewrite of the transcript.
func (v *Text) rewritten(e event.TranscriptRewritten) {
	v.Program.Err.Progress().Show("")
	if e.When == "at_start" {
		return // the notice at the start has already reported the repair
	}
	if e.Trigger == "" {
		v.note("the transcript was rewritten by %s: %d messages became %d", e.Mutator, e.Before, e.After)
		return
	}
	v.note("the transcript was compacted: %s became %d, about %d tokens became %d", term.Count(e.Before, "message"), e.After, e.TokensBefore, e.TokensAfter)
}

func (v *Text) sessionOpened(e event.SessionOpened) {
	v.opened = e
	switch {
	case e.Forked != "":
		v.note("forked %s, continuing in %s", e.Forked, e.ID)
	case !e.Created && e.Items > 0:
		v.note("resuming session %s, %s", e.ID, term.Count(e.Items, "item"))
	}
	for _, n := range e.Notices {
		v.note("%s", n)
	}
	if r := e.Recovery; r != nil && r.CutBytes > 0 {
		v.note("cut an incomplete record of %d bytes off the log and saved it in %s", r.CutBytes, r.TailFile)
	}
}

// printText prints a piece of the answer.
func (v *Text) printText(text string) {
	if text == "" {
		return
	}
	v.endThinking()
	if !v.printed {
		text = strings.TrimLeft(text, "\n")
		if text == "" {
			return
		}
		v.Program.Out.EndLine()
		if v.hasOutput && v.Program.Out.TTY {
			v.Program.Out.Text("\n")
		}
	}
	v.printed, v.hasOutput = true, true
	v.Program.Out.Text(term.Escape(text))
}

func (v *Text) printThinking(text string) {
	if !v.Verbose || v.Quiet {
		v.Program.Err.Progress().Show("thinking")
		return
	}
	if !v.thinking {
		v.thinking = true
		v.Program.Err.EndLine()
	}
	v.Program.Err.Text(v.Program.Err.Dim(term.Escape(text)))
}

func (v *Text) endThinking() {
	if v.thinking {
		v.thinking = false
		v.Program.Err.EndLine()
	}
}

// item completes the text that the deltas began, or prints the whole item if there were no deltas.
func (v *Text) item(it transcript.Encoded) {
	v.endThinking()
	if it.Role() == transcript.RoleTool {
		v.results(it)
	}
	if it.Role() != transcript.RoleAssistant {
		return
	}
	if text := it.Text(); !v.printed && text != "" {
		v.printText(text)
	}
	if v.printed {
		v.Program.Out.EndLine()
	}
	if it.Finish() == transcript.FinishCancelled {
		v.note("%s", runtext.CutOff)
	}
	v.printed = false
	for _, u := range it.Uses() {
		v.names[u.ID], v.waiting[u.ID] = runtext.Headline(u.Name, u.Input, v.header.Cwd), u
	}
}

// results shows calls that failed before they started, because the tool was unknown or the input
// was invalid. It also shows calls that continue in the background.
func (v *Text) results(e transcript.Encoded) {
	it, err := e.Decode()
	if err != nil {
		return
	}
	for _, part := range it.Parts {
		r, ok := part.(transcript.ToolResult)
		if !ok {
			continue
		}
		u, waits := v.waiting[r.UseID]
		tool, open := v.open[r.UseID]
		delete(v.waiting, r.UseID)
		delete(v.open, r.UseID)
		t := v.Program.Err
		switch {
		case v.Quiet:
		case open:
			t.Line("%s", t.Dim("  └ "+v.callPrefix(tool, r.UseID)+"continues in the background"))
		case waits && r.IsError:
			v.call(u.Name, v.names[u.ID])
			t.Line("%s", t.Dim("  └ ")+t.Red("error"))
			v.output(r.Text())
		}
	}
}

// callPrefix returns a prefix that identifies a call if several calls run at the same time.
func (v *Text) callPrefix(tool, use string) string {
	if !v.parallel {
		return ""
	}
	return term.Truncate(tool+" "+v.names[use], v.Program.Err.Columns()/2) + ": "
}

func (v *Text) toolStarted(e event.ToolStarted) {
	delete(v.waiting, e.Use)
	v.open[e.Use] = e.Tool
	v.parallel = len(v.open) > 1
	line := runtext.Headline(e.Tool, e.Input, v.header.Cwd)
	v.names[e.Use] = line
	if v.Quiet {
		return
	}
	v.call(e.Tool, line)
	if v.asked != e.Use { // the user has just seen the call in its approval request
		for _, l := range v.change(e) {
			v.Program.Err.Line("    %s", l)
		}
	}
	v.Program.Err.Progress().Show(term.Escape(e.Tool))
}

// call prints the input of a tool.
func (v *Text) call(name, line string) {
	t := v.Program.Err.Style
	if t.TTY && !v.parallel {
		v.Program.Err.Line("")
	}
	v.Program.Err.Line("%s", strings.TrimRight(fmt.Sprintf("%s %s  %s", t.Cyan("●"), t.Bold(term.Escape(name)), term.Truncate(line, t.Columns()-len(name)-5)), " "))
}

func (v *Text) toolFinished(e event.ToolFinished) {
	delete(v.open, e.Use)
	if len(v.open) == 0 {
		v.Program.Err.Progress().Show("waiting for " + term.Escape(v.header.Model))
	}
	if v.Quiet {
		return
	}
	t := v.Program.Err.Style
	state, say := "ok", t.Dim
	switch {
	case e.ExitCode != nil && *e.ExitCode != 0:
		state, say = fmt.Sprintf("exit %d", *e.ExitCode), t.Red
	case e.Outcome != "":
		state, say = strings.ReplaceAll(e.Outcome, "-", " "), t.Yellow
	case e.IsError:
		state, say = "error", t.Red
	}
	v.Program.Err.Line("%s", t.Dim("  └ "+v.callPrefix(e.Tool, e.Use))+say(state)+t.Dim("  "+term.Elapsed(e.Duration())))
	for _, n := range e.Notes {
		v.Program.Err.Line("    %s", t.Yellow(term.Escape(term.OneLine(n))))
	}
	if v.Verbose || state != "ok" {
		v.output(withoutPrinted(transcript.ToolResult{Content: e.Content}.Text(), e.Notes))
	}
}

// withoutPrinted returns a text without the lines that were already printed.
func withoutPrinted(text string, printed []string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return slices.Contains(printed, l) }), "\n")
}

// output shows the end of a call's output, or all of it with --verbose.
func (v *Text) output(text string) {
	keep := 8
	if v.Verbose {
		keep = 1 << 20
	}
	v.block(text, keep)
}

// subagent shows a sub-agent's calls and denied calls.
func (v *Text) subagent(e event.SubagentEvent) {
	if v.Quiet {
		return
	}
	t := v.Program.Err.Style
	who := "    " + term.Escape(e.Name) + ": "
	switch of := e.Event.(type) {
	case event.ToolStarted:
		line := runtext.Headline(of.Tool, of.Input, v.header.Cwd)
		v.Program.Err.Line("%s", t.Dim(who+of.Tool+"  "+term.Truncate(line, t.Columns()-len(who)-len(of.Tool)-2)))
	case event.DecisionMade:
		if of.Decision.Effect == policy.Deny {
			v.Program.Err.Line("%s%s", t.Yellow(who+"denied: "), term.Escape(term.OneLine(fmt.Sprintf("%s (%s)", of.Decision.Tool, cmp.Or(of.Decision.Reason, of.Decision.By)))))
		}
	case event.ApprovalResolved:
		v.resolved(e.Name+": ", of)
	case event.SubagentEvent:
		v.subagent(of)
	case event.ItemAppended:
		if v.Verbose && of.Item.Role() == transcript.RoleAssistant {
			v.block(of.Item.Text(), 1<<20)
		}
	}
}

// block prints the last keep lines of a text, dim and indented.
func (v *Text) block(text string, keep int) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	t := v.Program.Err.Style
	if cut := len(lines) - keep; cut > 0 {
		v.Program.Err.Line("%s", t.Dim(fmt.Sprintf("    … %s above, --verbose shows them", term.Count(cut, "line"))))
		lines = lines[cut:]
	}
	for _, l := range lines {
		v.Program.Err.Line("%s", t.Dim("    "+term.Escape(l)))
	}
}

func (v *Text) decided(d policy.Decision) {
	if d.Effect != policy.Deny || v.Quiet || v.open[d.Use] == d.Tool { // a call that is running reports refusals itself
		return
	}
	delete(v.waiting, d.Use)
	t := v.Program.Err.Style
	if line := v.names[d.Use]; line != "" && v.asked != d.Use { // the user has just seen the call in its approval request
		v.call(d.Tool, line)
	}
	v.Program.Err.Line("%s %s", t.Yellow("  └ denied:"), term.Escape(term.OneLine(fmt.Sprintf("%s (%s)", d.Tool, cmp.Or(d.Reason, d.By)))))
}

// resolved reports an answer that was not given at this terminal.
func (v *Text) resolved(of string, e event.ApprovalResolved) {
	if e.LateAnswer != nil {
		v.note("%salready answered; your answer was not used: %s", of, question.AnswerText(e.Answer))
		return
	}
	if e.Answer.Via != question.ViaTerminal && e.Answer.Actor != "nobody" && e.Answer.Actor != "interrupt" {
		v.note("%sanswered: %s", of, question.AnswerText(e.Answer))
	}
}

func (v *Text) policyChanged(e event.PolicyChanged) {
	for line := range strings.Lines(runtext.PolicyChanged(e.Change)) {
		v.note("%s", strings.TrimSuffix(line, "\n"))
	}
}

func (v *Text) retrying(e event.ModelRetrying) {
	if v.printed {
		v.Program.Out.EndLine()
		v.note("the text above is discarded: the model's stream broke off")
	}
	v.printed = false
	v.note("%s", runtext.Retrying(e))
}

// note prints a dim line about the run itself.
func (v *Text) note(format string, args ...any) {
	if v.Quiet {
		return
	}
	v.endThinking()
	v.Program.Err.Line("%s", v.Program.Err.Dim("· "+term.Escape(term.OneLine(fmt.Sprintf(format, args...)))))
}

func (v *Text) result(r event.Result) {
	v.endThinking()
	v.Program.Out.EndLine()
	v.Program.Err.Stop()
	if r.Reason == event.ReasonInterrupted && v.Program.Err.TTY {
		v.Program.Err.Echoed() // the terminal has echoed ^C
	}
	if why := EndReason(r); why != "" {
		v.Program.Err.Line("%s %s", v.Program.Err.Red("holdfast:"), term.Escape(term.OneLine(why)))
		if hint := outcome.Hint(r.Err); hint != "" {
			v.Program.Err.Line("%s %s", v.Program.Err.Bold("hint:"), term.Escape(term.OneLine(hint)))
		}
	}
	if v.Quiet {
		return
	}
	t := v.Program.Err.Style
	if t.TTY {
		v.Program.Err.Line("")
	}
	if n := slices.DeleteFunc(slices.Clone(r.Denials), command.DecidedByPerson); len(n) > 0 {
		v.Program.Err.Line("%s %s", t.Yellow("denied:"), term.Escape(deniedText(n)))
		v.Program.Err.Line("%s %s", t.Bold("hint:"), term.Escape(allowHint(&n[0])))
	}
	facts := []string{"session " + r.SessionID, term.Count(r.Turns, "model call"), term.Tokens(r.Usage.Total())}
	if r.SessionID == "" {
		facts[0] = "no session"
	}
	if r.CostUSD > 0 {
		facts = append(facts, term.Dollars(r.CostUSD))
	}
	facts = append(facts, term.Elapsed(r.Duration.Round(time.Millisecond)))
	v.Program.Err.Line("%s", t.Dim(term.Escape(strings.Join(facts, " · "))))
	if r.SessionID != "" && v.header.CanResume {
		which := "-c"
		if v.opened.Created && r.Reason == event.ReasonFailed && r.Text == "" { // -c skips a session without an answer
			which = "-r " + r.SessionID
		}
		v.Program.Err.Line("%s", t.Dim("resume: holdfast run "+v.header.ResumeArgs+which+` "…"`))
	}
}
