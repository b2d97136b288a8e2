// Command inside is the program of the test containers: the supervisor, as in holdfast, and a few operations
// of agents.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

func main() {
	if reaper.IsInvocation(os.Args[1:]) {
		reaper.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	verb, args := os.Args[1], os.Args[2:]
	if do := verbs[verb]; do != nil {
		if err := do(ctx, args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "no such verb:", verb)
	os.Exit(2)
}

var verbs = map[string]func(context.Context, []string) error{
	"supervise": func(ctx context.Context, args []string) error {
		if len(args) > 0 && args[0] == "attach" {
			return supervisor.Attach(ctx, supervisor.AttachOptions{Stdin: os.Stdin, Stdout: os.Stdout})
		}
		return supervisor.Serve(ctx, supervisor.ServeOptions{Log: os.Stderr})
	},
	"say":   func(_ context.Context, args []string) error { fmt.Println(strings.Join(args, " ")); return nil },
	"env":   func(context.Context, []string) error { fmt.Println(strings.Join(os.Environ(), "\n")); return nil },
	"id":    func(context.Context, []string) error { fmt.Println(os.Getuid(), os.Getgid()); return nil },
	"read":  read,
	"write": func(_ context.Context, args []string) error { return os.WriteFile(args[0], []byte(args[1]), 0o600) },
	"cat":   func(context.Context, []string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"wait":  wait,
	"eat":   eat,
	"exit":  leave,
	"spawn": spawn,
	"ps":    ps,
	"yell":  yell,
	"get":   get,
	"fill":  fill,
	"link":  func(_ context.Context, args []string) error { return os.Symlink(args[0], args[1]) },
}

func read(_ context.Context, args []string) error {
	b, err := os.ReadFile(args[0])
	fmt.Print(string(b))
	return err
}

// wait prints a line and waits for the end of its input.
func wait(context.Context, []string) error {
	fmt.Println("here")
	_, err := bufio.NewReader(os.Stdin).ReadString(0)
	if err == io.EOF {
		err = nil
	}
	return err
}

// eat uses memory until it is killed.
func eat(context.Context, []string) error {
	var all [][]byte
	for {
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		if len(all) > 1<<14 {
			return fmt.Errorf("%d blocks without a limit", len(all))
		}
	}
}

// fill writes a file without end.
func fill(ctx context.Context, args []string) error {
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	for b := make([]byte, 64<<10); ctx.Err() == nil && err == nil; time.Sleep(time.Millisecond) {
		_, err = f.Write(b)
	}
	return err
}

func leave(_ context.Context, args []string) error {
	if len(args) > 1 {
		fmt.Fprintln(os.Stderr, args[1])
	}
	code, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(code)
	}
	return err
}

// spawn starts a process that leaves its process group and keeps running, and ends with its input.
func spawn(ctx context.Context, _ []string) error {
	c := exec.Command("/proc/self/exe", "wait")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("child", c.Process.Pid)
	return wait(ctx, nil)
}

// ps lists the other programs that run here.
func ps(context.Context, []string) error {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if b, err := os.ReadFile("/proc/" + d.Name() + "/cmdline"); err == nil {
			fmt.Println(strings.Join(strings.Fields(strings.ReplaceAll(string(b), "\x00", " ")), " "))
		}
	}
	return nil
}

// yell writes a lot to standard error, and then a word to standard output.
func yell(context.Context, []string) error {
	line := strings.Repeat("x", 1023) + "\n"
	for range 1024 {
		if _, err := io.WriteString(os.Stderr, line); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// get fetches a URL through the proxy of the environment, or through a proxy that is named.
func get(ctx context.Context, args []string) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], http.NoBody)
	if err != nil {
		return err
	}
	client := http.DefaultClient
	if len(args) > 1 {
		proxy, err := url.Parse(args[1])
		if err != nil {
			return err
		}
		client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
