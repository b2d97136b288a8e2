package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// outputParser interprets the output of a command that has ended.
type outputParser struct {
	d       *Definition
	e       Event
	j       *job
	end     *exitState
	notices []string
}

// parse interprets the output by the rules of the hook's dialect.
func (r *outputParser) parse() (RunResult, error) {
	text := r.j.out.answered()
	r.cutOff()
	say := r.claude
	if dialectOf(r.d) == dialectSeed {
		say = r.seed
	}
	o, err := say(text)
	r.noticeRefusals(err == nil && (r.end.exit == 0 || o != nil))
	exit := r.end.exit
	a := RunResult{Output: o, Exit: &exit}
	if err != nil {
		a.Output = nil
		if len(r.notices) > 0 {
			err = fmt.Errorf("%w\n%s", err, join(r.notices))
		}
		return a, err
	}
	a.Notice = join(r.notices)
	return a, nil
}

func (r *outputParser) note(format string, args ...any) {
	r.notices = append(r.notices, fmt.Sprintf(format, args...))
}

// cutOff reports dropped output.
func (r *outputParser) cutOff() {
	for _, k := range []struct {
		name string
		kept *outputCapture
	}{{"output", &r.j.out}, {"error output", &r.j.errs}} {
		if k.kept.dropped > 0 {
			r.note("its %s was cut after %d bytes; %d bytes were dropped", k.name, len(k.kept.b), k.kept.dropped)
		}
	}
}

// noticeRefusals reports the actions that the sandbox refused. If the hook produced a result, the
// report omits system calls, because many programs try a call and continue without it.
func (r *outputParser) noticeRefusals(answered bool) {
	if r.end.report == nil {
		return
	}
	report := *r.end.report
	report.Violations = slices.Clone(report.Violations)
	wider := false
	for i := range report.Violations {
		v := &report.Violations[i]
		if !v.IsAccess() {
			continue
		}
		wider = true
		if v.Origin.File == "" { // the hook's own sandbox is the cause, not an entry in a settings file
			v.Hint = ""
		}
	}
	if answered {
		report.Failed = false
	}
	text := strings.TrimSpace(report.Text())
	if text == "" {
		return
	}
	r.notices = append(r.notices, text)
	if wider {
		r.note("hint: %s", r.accessAdvice())
	}
}

// accessAdvice returns the advice to use a setting that gives the hook more access.
func (r *outputParser) accessAdvice() string {
	if r.d.Sandbox == sandboxWrite {
		return `set "sandbox": "off" for this hook to run it without a sandbox`
	}
	return `set "sandbox": "write" for this hook to let it write the project, or "off" to run it without a sandbox`
}

// seed interprets output in the Open Agent SDK's dialect, in which only exit code 0 has a result.
func (r *outputParser) seed(text []byte) (*Output, error) {
	switch {
	case r.end.exit != 0:
		return nil, r.failure()
	case len(text) == 0:
		return nil, nil
	case isObject(text):
		return r.decode(text)
	case r.isPartialJSON(text):
		return nil, r.tooLong()
	}
	if out := r.trailingDeny(text); out != nil {
		return out, nil
	}
	return &Output{Message: string(text)}, nil
}

// claude interprets output in Claude's dialect.
func (r *outputParser) claude(text []byte) (*Output, error) {
	var out *Output
	var err error
	object := isObject(text)
	if object {
		out, err = r.decode(text)
	}
	switch {
	case r.end.exit == 2:
		return r.exit2(out, err), nil
	case object:
		return out, err
	case r.isPartialJSON(text):
		return nil, r.tooLong()
	case r.end.exit != 0:
		return r.otherExit()
	}
	return r.plain(text)
}

// plain interprets text that is not JSON. For a guard, text that looks like JSON is an error.
func (r *outputParser) plain(text []byte) (*Output, error) {
	info, _ := r.e.info()
	if out := r.trailingDeny(text); out != nil {
		return out, nil
	}
	if bytes.HasPrefix(text, []byte("{")) {
		if info.Guards && (!info.Context || r.d.OnFailure == failBlock) {
			return nil, errors.New("its output looks like JSON but is invalid")
		}
		r.note("its output looks like JSON but is invalid, and was treated as text")
	}
	switch {
	case len(text) == 0:
		return nil, nil
	case r.e == WorktreeCreate:
		return &Output{WorktreePath: string(text)}, nil
	case info.Context:
		return &Output{Context: string(text)}, nil
	}
	return nil, nil
}

// trailingDeny returns the block or deny in a guard's JSON that follows other text, such as the
// output of a shell's profile. It returns nil if there is none.
func (r *outputParser) trailingDeny(text []byte) *Output {
	info, _ := r.e.info()
	at := bytes.Index(text, []byte("\n{"))
	if !info.Guards || at < 0 || !isObject(text[at+1:]) {
		return nil
	}
	out, _, err := decodeOutput(dialectOf(r.d), r.e, text[at+1:])
	if err != nil {
		return nil
	}
	r.note("its JSON follows other text, so only a block or deny in it applies; hint: print only the JSON")
	return out.refusal()
}

// otherExit handles an exit code other than 0 and 2, without JSON.
func (r *outputParser) otherExit() (*Output, error) {
	err := r.failure()
	if r.e == WorktreeCreate { // any failure of such a hook prevents the creation of the worktree
		return &Output{Block: true, Reason: err.Error()}, nil
	}
	return nil, err
}

// exit2 handles exit code 2. For events that can be blocked, it is a block, even if the JSON does
// not block. For other events, standard error is shown to the user.
func (r *outputParser) exit2(out *Output, bad error) *Output {
	if bad != nil {
		r.note("%v", bad)
	}
	if bad != nil || out == nil {
		out = &Output{}
	}
	text := r.stderrText()
	info, _ := r.e.info()
	denied := out.Permission == "deny"
	if out.Permission != "" && !denied { // an allow with exit code 2 is ignored
		out.Permission, out.PermissionReason = "", ""
	}
	if !info.Blocks {
		r.note("exit code 2 has no effect on %s: %s", r.e, text)
		return out
	}
	reason := out.Reason
	if reason == "" && denied {
		reason = out.PermissionReason
	}
	if reason == "" {
		reason = text
	}
	out.Block, out.Decision, out.Reason = true, "", reason
	return out
}

// stderrText returns standard error, or a sentence if standard error is empty.
func (r *outputParser) stderrText() string {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(r.j.errs.b), "\uFFFD")); text != "" {
		return text
	}
	return "it exited with code 2 and wrote nothing to standard error"
}

func (r *outputParser) decode(text []byte) (*Output, error) {
	out, notices, err := decodeOutput(dialectOf(r.d), r.e, text)
	r.notices = append(r.notices, notices...)
	if err != nil {
		return nil, fmt.Errorf("its output is invalid: %w", err)
	}
	return out, nil
}

// failure describes how a command without a result ended.
func (r *outputParser) failure() error {
	how := fmt.Sprintf("exit code %d", r.end.exit)
	switch {
	case r.end.signal != 0:
		how = "it was killed by signal " + r.end.signal.String()
	case r.end.exit == 127 && r.d.Args == nil:
		how += " (a program was not found)"
	case r.end.exit == 126 && r.d.Args == nil:
		how += " (a file is not executable)"
	}
	if text := firstLines(string(r.j.errs.b)); text != "" {
		how += ": " + text
	}
	return fmt.Errorf("%s", how)
}

const maxFailureLines, maxFailureText = 5, 1000

// firstLines returns the first lines of an error output.
func firstLines(text string) string {
	lines := strings.SplitN(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\n", maxFailureLines+1)
	more := len(lines) > maxFailureLines
	if more {
		lines = lines[:maxFailureLines]
	}
	text = strings.Join(lines, "\n")
	if len(text) > maxFailureText {
		text, more = strings.ToValidUTF8(text[:maxFailureText], ""), true
	}
	if more {
		text += " …"
	}
	return text
}

// isObject reports whether a text is one JSON object.
func isObject(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) && json.Valid(text)
}

// isPartialJSON reports whether a text is the beginning of a JSON object that was cut off.
func (r *outputParser) isPartialJSON(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) && r.j.out.dropped > 0
}

func (r *outputParser) tooLong() error {
	return fmt.Errorf("its output is longer than %d bytes", r.j.out.max)
}
