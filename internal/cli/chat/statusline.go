package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/hooks"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/internal/version"
)

const (
	statusTime  = 300 * time.Millisecond // the shortest time between two starts of the command
	statusLines = 3                      // lines of its output that are shown
)

// statusCommand is the command of the settings that makes the status line.
type statusCommand struct {
	open    func() (*hooks.StatusLine, error)
	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex        // held while it runs
	line    *hooks.StatusLine // nil until the first start
	padding int
	out     string // what it printed last; "" shows the built-in line
	failed  bool   // the user knows that it fails
	started time.Time
	busy    bool   // it runs, or waits for its time
	changed bool   // something changed meanwhile
	seen    string // the state that it was started for
}

// statusInput is what the command reads. The names are those of Claude Code where they mean the same.
type statusInput struct {
	Event       string          `json:"hook_event_name"`
	SessionID   string          `json:"session_id"`
	SessionName string          `json:"session_name,omitempty"`
	CWD         string          `json:"cwd"`
	Model       statusModel     `json:"model"`
	Workspace   statusWorkspace `json:"workspace"`
	Version     string          `json:"version"`
	Cost        statusCost      `json:"cost"`
	Context     statusContext   `json:"context_window"`
	Holdfast    statusOwn       `json:"holdfast"`
}

type statusModel struct {
	ID   string `json:"id"`
	Name string `json:"display_name"`
}

type statusWorkspace struct {
	Current string `json:"current_dir"`
	Project string `json:"project_dir"`
}

type statusCost struct {
	USD    float64 `json:"total_cost_usd"`
	Millis int64   `json:"total_duration_ms"`
}

type statusContext struct {
	Input     int64    `json:"total_input_tokens"`
	Output    int64    `json:"total_output_tokens"`
	Size      int      `json:"context_window_size"`
	Used      *float64 `json:"used_percentage"` // null if the size is not known
	Remaining *float64 `json:"remaining_percentage"`
	Tokens    int      `json:"used_tokens"`
}

// statusOwn is what Claude Code does not have.
type statusOwn struct {
	Mode      string  `json:"permission_mode"`
	Sandbox   string  `json:"sandbox"`
	Daemon    bool    `json:"daemon"`
	Branch    string  `json:"branch,omitempty"`
	Working   bool    `json:"working"`
	Queued    int     `json:"queued"`
	Questions int     `json:"questions"`
	DayUSD    float64 `json:"day_cost_usd"`
	BudgetUSD float64 `json:"budget_usd,omitempty"`
}

// statusInput returns the state for the command. The duration is left out.
func (u *ui) statusInput() statusInput {
	st, s := u.conv.State(), u.parts()
	in := statusInput{
		Event: "Status", SessionID: u.s.ReservedID(), SessionName: st.Title, CWD: u.cwd, Model: statusModel{s.Model, s.Model[strings.LastIndexByte(s.Model, '/')+1:]},
		Workspace: statusWorkspace{u.cwd, u.s.at().rules.Project}, Version: version.Current().Version, Cost: statusCost{USD: s.CostUSD},
		Context:  statusContext{Input: st.Usage.Input, Output: st.Usage.Output, Size: s.Window, Tokens: s.Context},
		Holdfast: statusOwn{s.Mode, s.Sandbox, s.Daemon, s.Branch, st.Working, s.Queue, s.Questions, s.DayUSD, s.BudgetUSD},
	}
	if s.Window > 0 {
		used := min(100, float64(s.Context)*100/float64(s.Window))
		left := 100 - used
		in.Context.Used, in.Context.Remaining = &used, &left
	}
	return in
}

// setStatusCommand takes the command of the session's settings.
func (u *ui) setStatusCommand() {
	u.closeStatus()
	here := u.s.at()
	line := here.rules.StatusLine
	if line.Command.Value == "" {
		return
	}
	s := u.s
	ctx, cancel := context.WithCancel(u.ctx)
	u.status = &statusCommand{ctx: ctx, cancel: cancel, padding: line.Padding, open: func() (*hooks.StatusLine, error) {
		return hooks.OpenStatusLine(&hooks.Options{
			Env: s.p.Environment(), Settings: here.rules, Folders: []string{here.cwd}, NoSandbox: s.flags.NoSandbox,
		})
	}}
}

func (u *ui) closeStatus() {
	c := u.status
	if c == nil {
		return
	}
	u.status = nil
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != nil {
		c.line.Close()
	}
}

// runStatus starts the command if something that it shows has changed.
func (u *ui) runStatus() {
	c := u.status
	if c == nil || u.s == nil {
		return
	}
	in := u.statusInput()
	b, err := json.Marshal(in)
	if err != nil {
		return // a number that is none
	}
	if key := fmt.Sprint(string(b), u.conv.State().Seq, u.width); key == c.seen {
		return
	} else if c.busy {
		c.changed = true
		return
	} else {
		c.seen = key
	}
	if !u.started.IsZero() {
		in.Cost.Millis = u.now().Sub(u.started).Milliseconds()
		b, _ = json.Marshal(in) // as above
	}
	c.busy, c.changed = true, false
	wait, width := statusTime-u.now().Sub(c.started), u.width
	c.started = u.now().Add(max(wait, 0))
	u.later(func(context.Context) func() {
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
		}
		out, err := c.run(append(b, '\n'), width)
		return func() { u.statusRan(c, out, err) }
	})
}

// run is called outside of the loop.
func (c *statusCommand) run(input []byte, width int) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ctx.Err(); err != nil {
		return "", err
	}
	if c.line == nil {
		line, err := c.open()
		if err != nil {
			return "", err
		}
		c.line = line
	}
	return c.line.Run(c.ctx, input, width-c.padding)
}

func (u *ui) statusRan(c *statusCommand, out string, err error) {
	c.busy = false
	if c != u.status { // another session was opened
		return
	}
	c.out = out
	if err != nil && !c.failed {
		c.failed = true
		u.fail("the status line of "+u.s.at().rules.StatusLine.Command.Origin.File, err)
	}
	if c.changed {
		u.runStatus()
	}
}

// printStatus runs the command once and prints its lines, for the plain form.
func (u *ui) printStatus() {
	c := u.status
	if c == nil {
		return
	}
	b, err := json.Marshal(u.statusInput())
	if err != nil {
		return // as in runStatus
	}
	width := u.width
	u.later(func(context.Context) func() {
		out, err := c.run(append(b, '\n'), width)
		return func() {
			if c == u.status {
				u.statusRan(c, out, err)
				u.print(c.view(markdown.Plain, u.width)...)
			}
		}
	})
}

// view returns the lines that the command printed; nil if there are none.
func (c *statusCommand) view(style markdown.Style, width int) (lines []string) {
	if c == nil || c.out == "" {
		return nil
	}
	left := strings.Repeat(" ", c.padding)
	for l := range strings.SplitSeq(strings.TrimRight(c.out, "\n"), "\n") {
		if lines = append(lines, paint.Clip(left+colored(strings.TrimRight(l, "\r"), style), width)); len(lines) == statusLines {
			break
		}
	}
	return lines
}

// colored makes a line safe. Of its escape sequences only colors stay, if the terminal has colors.
func colored(line string, style markdown.Style) string {
	var b strings.Builder
	painted := false
	for line != "" {
		at := strings.Index(line, "\x1b[")
		if at < 0 {
			at = len(line)
		}
		b.WriteString(term.Escape(strings.ReplaceAll(line[:at], "\t", " ")))
		if line = line[at:]; line == "" {
			break
		}
		code := line[2:]
		n := strings.IndexFunc(code, func(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' })
		if n < 0 || code[n] != 'm' || n > 40 { // no color: it is shown as text
			b.WriteString(`\x1b`)
			line = line[1:]
			continue
		}
		if style != markdown.Plain {
			b.WriteString(line[:n+3])
			painted = true
		}
		line = code[n+1:]
	}
	if painted {
		b.WriteString("\x1b[m")
	}
	return b.String()
}
