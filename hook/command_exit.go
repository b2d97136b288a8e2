package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// outputParser understands what a command that has ended said.
type outputParser struct {
	d       *Definition
	e       Event
	j       *job
	end     *exitState
	notices []string
}

// answer is the answer by the rules of the hook's dialect.
func (r *outputParser) answer() (RunResult, error) {
	text := r.j.out.answered()
	r.cutOff()
	say := r.claude
	if dialectOf(r.d) == dialectSeed {
		say = r.seed
	}
	o, err := say(text)
	r.refused(err == nil && (r.end.exit == 0 || o != nil))
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

// cutOff tells of output that was not kept.
func (r *outputParser) cutOff() {
	for _, k := range []struct {
		name string
		kept *outputCapture
	}{{"output", &r.j.out}, {"error output", &r.j.errs}} {
		if k.kept.dropped > 0 {
			r.note("of its %s the first %d bytes were kept and %d dropped", k.name, len(k.kept.b), k.kept.dropped)
		}
	}
}

// refused tells what the sandbox refused. Of a hook that answered, system calls are
// left out: many programs try one and do without.
func (r *outputParser) refused(answered bool) {
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
		if v.Origin.File == "" { // no settings say so: it is what a hook's sandbox is
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
		r.note("hint: %s", r.embeddedJSON())
	}
}

// embeddedJSON says what in the hook's settings would let it do more.
func (r *outputParser) embeddedJSON() string {
	if r.d.Sandbox == sandboxWrite {
		return `"sandbox": "off" in the hook's settings runs it without a sandbox`
	}
	return `"sandbox": "write" in the hook's settings lets it write the project, "off" runs it without a sandbox`
}

// seed reads an answer in seed 000's dialect: only exit code 0 says something.
func (r *outputParser) seed(text []byte) (*Output, error) {
	switch {
	case r.end.exit != 0:
		return nil, r.failure()
	case len(text) == 0:
		return nil, nil
	case wholeObject(text):
		return r.decode(text)
	case r.partialJSON(text):
		return nil, r.tooLong()
	}
	if out := r.trailingDeny(text); out != nil {
		return out, nil
	}
	return &Output{Message: string(text)}, nil
}

// claude reads an answer in Claude's dialect.
func (r *outputParser) claude(text []byte) (*Output, error) {
	var out *Output
	var err error
	object := wholeObject(text)
	if object {
		out, err = r.decode(text)
	}
	switch {
	case r.end.exit == 2:
		return r.exit2(out, err), nil
	case object:
		return out, err
	case r.partialJSON(text):
		return nil, r.tooLong()
	case r.end.exit != 0:
		return r.otherExit()
	}
	return r.plain(text)
}

// plain is what text that is no JSON says. One that is meant to be JSON is no answer
// of a guard.
func (r *outputParser) plain(text []byte) (*Output, error) {
	info, _ := r.e.info()
	if out := r.trailingDeny(text); out != nil {
		return out, nil
	}
	if bytes.HasPrefix(text, []byte("{")) {
		if info.Guards && (!info.Context || r.d.OnFailure == failBlock) {
			return nil, errors.New("its output begins like JSON but is none")
		}
		r.note("its output begins like JSON but is none, and was taken for text")
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

// trailingDeny is what a guard refuses in an answer that stands below other text, such as
// that of a shell's profile; nil without one.
func (r *outputParser) trailingDeny(text []byte) *Output {
	info, _ := r.e.info()
	at := bytes.Index(text, []byte("\n{"))
	if !info.Guards || at < 0 || !wholeObject(text[at+1:]) {
		return nil
	}
	out, _, err := decodeOutput(dialectOf(r.d), r.e, text[at+1:])
	if err != nil {
		return nil
	}
	r.note("its answer stands below other text, where only what it refuses counts; print nothing but the JSON")
	return out.refusal()
}

// otherExit is an exit code that is neither 0 nor 2, without JSON.
func (r *outputParser) otherExit() (*Output, error) {
	err := r.failure()
	if r.e == WorktreeCreate { // any failure there keeps the worktree from being made
		return &Output{Block: true, Reason: err.Error()}, nil
	}
	return nil, err
}

// exit2 is exit code 2: a block, whatever the JSON beside it says, where the event
// has something to block. Elsewhere standard error is for the person.
func (r *outputParser) exit2(out *Output, bad error) *Output {
	if bad != nil {
		r.note("%v", bad)
	}
	if bad != nil || out == nil {
		out = &Output{}
	}
	said := r.stderrText()
	info, _ := r.e.info()
	denied := out.Permission == "deny"
	if out.Permission != "" && !denied { // an allow beside it counts for nothing
		out.Permission, out.PermissionReason = "", ""
	}
	if !info.Blocks {
		r.note("exit code 2 has no effect on %s: %s", r.e, said)
		return out
	}
	reason := out.Reason
	if reason == "" && denied {
		reason = out.PermissionReason
	}
	if reason == "" {
		reason = said
	}
	out.Block, out.Decision, out.Reason = true, "", reason
	return out
}

// stderrText is standard error, or that there is none.
func (r *outputParser) stderrText() string {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(r.j.errs.b), "\uFFFD")); text != "" {
		return text
	}
	return "it ended with exit code 2 and said nothing on standard error"
}

func (r *outputParser) decode(text []byte) (*Output, error) {
	out, notices, err := decodeOutput(dialectOf(r.d), r.e, text)
	r.notices = append(r.notices, notices...)
	if err != nil {
		return nil, fmt.Errorf("its answer cannot be used: %w", err)
	}
	return out, nil
}

// failure says how a command ended that has no answer.
func (r *outputParser) failure() error {
	how := fmt.Sprintf("exit code %d", r.end.exit)
	switch {
	case r.end.signal != 0:
		how = "it was ended by signal " + r.end.signal.String()
	case r.end.exit == 127 && r.d.Args == nil:
		how += " (a program was not found)"
	case r.end.exit == 126 && r.d.Args == nil:
		how += " (a file is not a program that may be executed)"
	}
	if text := firstLines(string(r.j.errs.b)); text != "" {
		how += ": " + text
	}
	return fmt.Errorf("%s", how)
}

const maxFailureLines, maxFailureText = 5, 1000

// firstLines is the beginning of an error output.
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

// wholeObject says whether a text is one JSON object.
func wholeObject(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) && json.Valid(text)
}

// partialJSON says whether a text is the beginning of a JSON object that was cut off.
func (r *outputParser) partialJSON(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{")) && r.j.out.dropped > 0
}

func (r *outputParser) tooLong() error {
	return fmt.Errorf("its answer is longer than %d bytes", r.j.out.max)
}
