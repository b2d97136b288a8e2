package sandbox

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
)

// Report describes the sandbox's part in how a command ended. It separates two cases: the command
// could not start, or it was refused something. It does not cover the command's own errors.
type Report struct {
	CouldNotStart string      `json:"could_not_start,omitempty"` // the step that failed, and why
	Hint          string      `json:"hint,omitempty"`            // how to fix what CouldNotStart reports
	Violations    []Violation `json:"violations,omitempty"`

	// Moved are the files that the command, or another process while it ran, created under protected
	// names. They are now in quarantine.
	Moved []quarantine.Item `json:"moved,omitempty"`

	// Appeared are protected names that were created while the command ran and still exist: another
	// process removed the placeholder or created the name, or the file could not be moved.
	Appeared []string `json:"appeared,omitempty"`

	OOM      bool          `json:"oom,omitempty"`       // killed because it used too much memory
	WallTime bool          `json:"wall_time,omitempty"` // killed because its time was up
	Dropped  int64         `json:"dropped,omitempty"`   // the number of bytes of output beyond the limit that were dropped
	Elapsed  time.Duration `json:"elapsed,omitempty"`   // run time in nanoseconds
	Failed   bool          `json:"failed,omitempty"`    // it exited with a status other than 0
}

// maxViolations is the maximum number of violations in a report.
const maxViolations = 32

// newReport builds the report after the command has ended and its output is copied.
func (c *Cmd) newReport(err error, wall bool) *Report {
	if err != nil {
		return c.notStarted(err)
	}
	m := c.sandbox.merged()
	r := &Report{Appeared: c.state.Appeared, OOM: c.state.OOM, WallTime: wall, Dropped: c.streams.budget.lost(), Elapsed: c.state.Elapsed, Failed: !c.state.Success()}
	r.Moved = c.state.Quarantined[:min(len(c.state.Quarantined), maxViolations)]
	f := finder{box: c.sandbox, dir: c.dir, env: c.env, hosts: map[string]bool{}}
	all := f.limits(r, c.state)
	if c.hostViolations != nil {
		output := ""
		if c.streams.tail != nil && r.Failed {
			output = string(c.streams.tail.bytes())
		}
		all = append(all, f.addRefusedHosts(c.hostViolations(output))...)
	}
	reported, text := false, ""
	if c.streams.tail != nil && !c.sandbox.compiler.unconfined {
		text = string(c.streams.tail.bytes())
		lines := errorLines(text)
		all = append(all, f.signingFailures(text)...)
		all = append(all, f.addErrorLines(lines)...)
		reported = slices.ContainsFunc(lines, func(c errorLine) bool { return c.fault == faultPerm })
	}
	if r.Failed && !slices.ContainsFunc(all, func(v Violation) bool { return v.Kind == kindPath }) {
		all = append(all, c.tried.refused(c.sandbox)...)
	}
	for _, refused := range c.state.Refused {
		v := syscallViolation(refused.Call)
		if v.reported = reported; isUnixSocket(refused.Call) {
			v.toForeign(f.foreignSocket(text))
		}
		all = append(all, v)
	}
	seen := map[Violation]bool{}
	for _, v := range all {
		key := Violation{Kind: v.Kind, Subject: v.Subject, Op: v.Op}
		if !seen[key] && len(r.Violations) < maxViolations && !m.ignored(&v, c.line) {
			r.Violations = append(r.Violations, v)
		}
		seen[key] = true
	}
	return r
}

// Text describes, for the model and the user, in a few lines what was refused, by which setting, and
// how to allow it. It is empty if the sandbox had no part in how the command ended. System calls are
// listed only for a command that failed: many programs try a call and continue without it.
func (r *Report) Text() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	if r.CouldNotStart != "" {
		writeLine(&b, "could not start: "+r.CouldNotStart, r.Hint)
	}
	for _, m := range r.Moved {
		writeLine(&b, m.Path+" was created while the command ran and was moved to quarantine, because its name is protected", "check it, and restore it if you want it: holdfast sandbox quarantine --restore "+m.ID)
	}
	for _, name := range r.Appeared {
		writeLine(&b, name+" was created while the command ran, although its name is protected", "check it before another program uses it")
	}
	var calls []string
	for i := range r.Violations {
		v := &r.Violations[i]
		if v.Kind != kindSyscall {
			writeLine(&b, v.String(), v.Hint)
		} else if v.Hint != "" && r.Failed {
			writeLine(&b, v.String(), v.Hint)
		} else {
			calls = append(calls, v.Subject)
		}
	}
	if r.Failed && len(calls) > 0 {
		writeLine(&b, "refused system calls, which may or may not be the cause of the failure: "+strings.Join(calls, ", "), "")
	}
	return b.String()
}

func writeLine(b *strings.Builder, text, hint string) {
	b.WriteString("sandbox: " + sanitize(text))
	if hint != "" {
		b.WriteString("; hint: " + sanitize(hint))
	}
	b.WriteByte('\n')
}

// sanitize removes line breaks and terminal control characters from names that a command chose.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, s)
}

// String is what happened and by which setting: "write to /etc/x was refused:
// outside allowedWritePaths (/w/settings.json:4:3)".
func (v *Violation) String() string {
	text := v.action()
	switch {
	case v.Kind == kindLimit && v.Setting == "":
	case v.Kind == kindLimit:
		text += " (" + v.Setting
		if w := position(v.Origin); w != "" {
			text += ", " + w
		}
		return text + ")"
	case v.Reason != "":
		text += ": " + v.Reason
	case v.Setting == "":
		text += ": built-in rule"
	case v.Op == opListen:
		text += ": " + v.Setting + " is false"
	case v.Kind == kindSyscall:
		text += ": " + v.Setting + " is not set"
	case strings.HasPrefix(v.Setting, "allowed") || v.Setting == fieldDomains:
		text += ": outside " + v.Setting
	case v.Origin.Rule != "":
		text += ": " + v.Setting + " has " + v.Origin.Rule
	default:
		text += ": " + v.Setting
	}
	if w := position(v.Origin); w != "" {
		text += " (" + w + ")"
	}
	return text
}

func (v *Violation) action() string {
	switch v.Kind {
	case kindHost:
		if v.Op == opListen {
			return "listening on " + v.Subject + " was refused"
		}
		return "connection to " + v.Subject + " was refused"
	case kindSyscall:
		return "system call " + v.Subject + " was refused"
	case kindLimit:
		if text := limitWords[v.Subject]; text != "" {
			return text
		}
		return "the limit " + v.Subject + " was reached"
	}
	switch v.Op {
	case "read":
		return "reading " + v.Subject + " was refused"
	case "write":
		return "write to " + v.Subject + " was refused"
	case "run":
		return "running " + v.Subject + " was refused"
	}
	return v.Subject + " was refused"
}

var limitWords = map[string]string{
	"memory":      "it was killed because it used more memory than allowed",
	"wallTime":    "it was killed because it ran longer than allowed",
	"outputBytes": "it wrote more output than allowed",
	"fileSize":    "a file grew larger than allowed",
	"pids":        "it reached the limit of processes",
}

// notStarted returns the report of a command that did not run.
func (c *Cmd) notStarted(err error) *Report {
	r := &Report{CouldNotStart: err.Error(), Hint: startHint(err), Failed: true}
	if s, ok := errors.AsType[*kernel.StartError](err); ok && c.sandbox != nil {
		r.CouldNotStart, r.Hint = c.sandbox.describeStartError(s)
	}
	return r
}

// startHint returns what to do if a command could not start, or "".
func startHint(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		return h.Hint()
	}
	switch {
	case errors.Is(err, kernel.ErrUnsupported):
		return "run holdfast doctor to see what is missing on this machine"
	case errors.Is(err, syscall.ENOEXEC):
		return "the file is not an executable format; a script needs #! and an interpreter in its first line"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open; ulimit -n raises the limit"
	case errors.Is(err, syscall.EAGAIN):
		return "too many processes are running"
	}
	return ""
}
