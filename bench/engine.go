//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// bareEngine talks to a container engine with minimal code. It is the control: what a shell's
// `docker exec` does, without the start of the shell.
type bareEngine struct {
	network, addr string
	http          *http.Client
}

// noEngine is the text that explains how to get the rows for workspaces.
const noEngine = `no container engine: eval "$(scripts/services start docker)", or set DOCKER_HOST`

// findEngine returns the engine that the environment names, and makes it the engine of this
// process. It returns nil if the environment names no engine.
func findEngine() (*bareEngine, error) {
	host := os.Getenv("HOLDFAST_TEST_DOCKER")
	if host == "" {
		host = os.Getenv("DOCKER_HOST")
	}
	if host == "" {
		return nil, nil
	}
	u, err := url.Parse(host)
	if err != nil {
		return nil, err
	}
	e := &bareEngine{network: u.Scheme, addr: u.Host}
	if u.Scheme == "unix" {
		e.addr = u.Path
	}
	e.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) }}}
	return e, os.Setenv("DOCKER_HOST", host)
}

func (e *bareEngine) dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, e.network, e.addr)
}

// call sends a request to the engine and decodes the response into out, unless out is nil.
func (e *bareEngine) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 400 {
		err = fmt.Errorf("the engine: %s %s: %s %s", method, path, res.Status, bytes.TrimSpace(text))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	return err
}

// bareExec is a process in a container.
type bareExec struct {
	id     string
	conn   net.Conn
	out    io.Reader // standard output
	stderr bytes.Buffer
}

// exec starts a process with the requests of `docker exec -i`. Standard input is written and
// closed.
func (e *bareEngine) exec(ctx context.Context, container, dir, stdin string, args ...string) (*bareExec, error) {
	var made struct{ ID string }
	if err := e.call(ctx, "POST", "/containers/"+container+"/exec", map[string]any{
		"AttachStdin": stdin != "", "AttachStdout": true, "AttachStderr": true, "Cmd": args, "WorkingDir": dir,
	}, &made); err != nil {
		return nil, err
	}
	conn, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	const start = `{"Detach":false,"Tty":false}`
	if _, err := fmt.Fprintf(conn, "POST /exec/%s/start HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n"+
		"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: %d\r\n\r\n%s", made.ID, len(start), start); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil) //nolint:bodyclose // what follows are the streams
	if err == nil && res.StatusCode != http.StatusSwitchingProtocols && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the engine: start: %s", res.Status)
	}
	if err == nil && stdin != "" {
		_, err = io.WriteString(conn, stdin)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	x := &bareExec{id: made.ID, conn: conn}
	x.out = &streams{in: in, errs: &x.stderr}
	return x, nil
}

// streams reads standard output from an engine's stream that combines both outputs.
type streams struct {
	in   *bufio.Reader
	errs io.Writer
	left int
}

func (s *streams) Read(p []byte) (int, error) {
	for s.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return 0, err
		}
		n := int(binary.BigEndian.Uint32(head[4:]))
		if head[0] == 1 {
			s.left = n
			continue
		}
		if _, err := io.CopyN(s.errs, s.in, int64(n)); err != nil {
			return 0, err
		}
	}
	n, err := s.in.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// ended reads the rest of the stream, and returns how the process ended.
func (e *bareEngine) ended(ctx context.Context, x *bareExec) error {
	_, err := io.Copy(io.Discard, x.out)
	err = errors.Join(err, x.conn.Close())
	var now struct{ ExitCode *int }
	if err := errors.Join(err, e.call(ctx, "GET", "/exec/"+x.id+"/json", nil, &now)); err != nil {
		return err
	}
	if now.ExitCode == nil || *now.ExitCode != 0 {
		return fmt.Errorf("the process of docker exec failed: %s", strings.TrimSpace(x.stderr.String()))
	}
	return nil
}

// remove ends and removes a container.
func (e *bareEngine) remove(ctx context.Context, container string) error {
	return e.call(ctx, "DELETE", "/containers/"+container+"?force=true", nil, nil)
}

// removeImage removes a name of an image.
func (e *bareEngine) removeImage(ctx context.Context, name string) error {
	return e.call(ctx, "DELETE", "/images/"+name, nil, nil)
}

// idle is the resource use of an idle container.
type idle struct {
	bytes     int64 // bytes of memory, without pages that the kernel could write to disk or drop
	processes int
	threads   int
}

func (e *bareEngine) idle(ctx context.Context, container string) (i idle, err error) {
	var s struct {
		Memory struct {
			Usage int64            `json:"usage"`
			Stats map[string]int64 `json:"stats"`
		} `json:"memory_stats"`
		PIDs struct{ Current int } `json:"pids_stats"`
	}
	if err := e.call(ctx, "GET", "/containers/"+container+"/stats?stream=false&one-shot=true", nil, &s); err != nil {
		return i, err
	}
	var top struct{ Processes [][]string }
	if err := e.call(ctx, "GET", "/containers/"+container+"/top?ps_args=-o+pid,args", nil, &top); err != nil {
		return i, err
	}
	cached := s.Memory.Stats["total_inactive_file"] // of cgroup v1
	if n, ok := s.Memory.Stats["inactive_file"]; ok {
		cached = max(cached, n)
	}
	return idle{s.Memory.Usage - cached, len(top.Processes), s.PIDs.Current}, nil
}
