package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// syncer is a server with WAITAOF that knows no script yet and syncs late: the tests'
// server may be older.
type syncer struct {
	net.Listener

	mu       sync.Mutex
	known    bool // the script
	late     int  // how often it does not sync in time
	commands []string
}

func (s *syncer) answer(command []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := command[0]
	if name == "CONFIG" || name == "EVALSHA" || name == "EVAL" || name == "WAITAOF" {
		s.commands = append(s.commands, name)
	}
	switch name {
	case "INFO":
		info := "redis_version:7.2.0\r\nredis_mode:standalone\r\nrole:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nloading:0\r\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
	case "GET":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(format), format)
	case "EVALSHA":
		if !s.known {
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
	case "EVAL":
		s.known = true
	case "WAITAOF":
		if !s.known {
			return "*2\r\n:1\r\n:0\r\n" // nothing was written
		}
		if s.late > 0 {
			s.late--
			return "*2\r\n:0\r\n:0\r\n"
		}
		return "*2\r\n:1\r\n:0\r\n"
	default:
		return "+OK\r\n"
	}
	return "*1\r\n$2\r\nok\r\n"
}

func (s *syncer) serve() {
	for {
		c, err := s.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for r := bufio.NewReader(c); ; {
				command, err := readCommand(r)
				if err != nil {
					return
				}
				if _, err := io.WriteString(c, s.answer(command)); err != nil {
					return
				}
			}
		}()
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	size := func() (int, error) {
		line, err := r.ReadString('\n')
		if err != nil || len(line) < 2 {
			return 0, io.ErrUnexpectedEOF
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := size()
	if err != nil || n < 1 {
		return nil, io.ErrUnexpectedEOF
	}
	command := make([]string, n)
	for i := range command {
		n, err := size()
		if err != nil {
			return nil, err
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		command[i] = string(b[:n])
	}
	return command, nil
}

// With durability=wait, a change is acknowledged when the server reports that it has synced
// it. It is sent again until then.
func TestChangesWaitForSync(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := &syncer{Listener: l, late: 2}
	go server.serve()
	s, err := Open(t.Context(), "redis://"+l.Addr().String()+"?durability=wait", nil)
	if err != nil {
		t.Fatal(err, session.Hint(err))
	}
	defer s.Close()
	if err := s.Release(context.Background(), "s", session.Lease{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(server.commands, " ")
	if want := "EVALSHA WAITAOF EVAL WAITAOF EVALSHA WAITAOF EVALSHA WAITAOF"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := s.Held(context.Background(), "s"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(server.commands, " "); !strings.HasSuffix(got, "WAITAOF EVALSHA") {
		t.Errorf("reading waits, too: %s", got)
	}
}
