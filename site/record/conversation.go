package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	lookTime = 50 * time.Millisecond // between two looks at the screen
	typeTime = 70 * time.Millisecond // between two keys of a message
)

// converse records a conversation. The program moves the cursor, so it runs in tmux, and the frames of a line are
// what tmux shows in it.
func (s *environment) converse(sc recording) (lines [][]frame, err error) {
	dir, env, err := s.prepare(sc)
	if err != nil {
		return nil, err
	}
	defer s.stopDaemon()
	c := sc.commands[0]
	args := append([]string{"env", "-i"}, env...)
	if os.Getuid() == 0 {
		args = append(args, "LINE="+c.line, "unshare", "-m", "sh", "-c", enter)
	} else {
		args = append(args, "sh", "-c", "exec "+c.line)
	}
	t := tmux(filepath.Join(s.dir, "tmux"))
	defer func() { _, _ = t.run("kill-server") }()
	size := []string{"new-session", "-d", "-x", fmt.Sprint(sc.columns), "-y", fmt.Sprint(sc.rows), "-c", dir}
	if _, err := t.run(slices.Concat([]string{"-f", "/dev/null", "set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "remain-on-exit-format", "", ";"}, size, args)...); err != nil {
		return nil, err
	}
	return t.watch(sc.rows, c.answers)
}

// tmux is the socket of a tmux server.
type tmux string

func (t tmux) run(args ...string) (string, error) {
	b, err := exec.Command("tmux", append([]string{"-S", string(t)}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tmux %s: %w: %s", args[0], err, b)
	}
	return string(b), err
}

// watch looks at the screen until the program ends, and types the answers.
func (t tmux) watch(rows int, answers []answer) ([][]frame, error) {
	s := &screen{columns: 1 << 20, lines: make([][]frame, rows)}
	began, changed, before := time.Now(), time.Now(), ""
	at := 0.0
	for time.Since(began) < commandTimeout {
		shown, err := t.run("capture-pane", "-e", "-p")
		if err != nil {
			return nil, err
		}
		if shown != before {
			at += min(time.Since(changed).Seconds()*slowdown, maxPause)
			changed, before = time.Now(), shown
			s.look(shown, at)
		}
		dead, err := t.run("display-message", "-p", "#{pane_dead}")
		switch {
		case err != nil:
			return nil, err
		case strings.TrimSpace(dead) == "1" && len(answers) > 0:
			return nil, fmt.Errorf("ended before %q appeared:\n%s", answers[0].after, shown)
		case strings.TrimSpace(dead) == "1":
			return s.lines, nil
		case len(answers) > 0 && strings.Contains(plain(shown), answers[0].after) && (answers[0].busy || time.Since(changed) > 2*idleTime):
			key := answers[0].keys[:1]
			if _, err := t.run("send-keys", "-H", fmt.Sprintf("%x", key)); err != nil {
				return nil, err
			}
			if answers[0].keys = answers[0].keys[1:]; answers[0].keys == "" {
				answers = answers[1:]
				changed = time.Now()
				time.Sleep(typeTime)
				continue
			}
			answers[0].after, answers[0].busy = "", true // the rest of it
			time.Sleep(typeTime)
		default:
			time.Sleep(lookTime)
		}
	}
	return nil, fmt.Errorf("still running after %s:\n%s", commandTimeout, before)
}

// look adds a frame to each line that has changed.
func (s *screen) look(shown string, at float64) {
	all, rows := s.lines, strings.Split(shown, "\n")
	for i := range all {
		s.line, s.lines = nil, all[i:i+1]
		if i < len(rows) {
			_ = s.write(rows[i], &at)
		}
		s.addFrame(at)
	}
	s.lines = all
}

// plain returns what a screen shows, without colors.
func plain(shown string) string { return control().ReplaceAllString(shown, "") }

// stopDaemon ends the daemon that the conversation has started.
func (s *environment) stopDaemon() {
	b, err := os.ReadFile(filepath.Join(s.dir, "home", ".holdfast", "run", "daemon.json"))
	if err != nil {
		return
	}
	var d struct{ PID int }
	if json.Unmarshal(b, &d) != nil || d.PID <= 1 {
		return
	}
	daemon, err := os.FindProcess(d.PID)
	if err != nil {
		return
	}
	for range 100 {
		if daemon.Signal(syscall.SIGTERM) != nil { // it has ended
			return
		}
		time.Sleep(lookTime)
	}
}
