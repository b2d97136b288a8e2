//go:build linux

// Command bareclient is the control for a tool turn: it posts the conversation to a model server, reads the
// stream, runs `bash -c`, and makes the turn durable by two appends with fdatasync, as directly as Go can.
//
//	bareclient URL LOGFILE
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bareclient:", err)
		os.Exit(1)
	}
}

type event struct {
	Type  string `json:"type"`
	Block struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		PartialJSON string `json:"partial_json"`
		Text        string `json:"text"`
	} `json:"delta"`
}

func run(url, path string) error {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	messages := []byte(`{"role":"user","content":"run true"}`)
	for {
		body := append([]byte(`{"model":"bench","max_tokens":4096,"stream":true,"messages":[`), messages...)
		body = append(body, "]}"...)
		id, input, text, err := ask(url, body)
		if err != nil {
			return err
		}
		if id == "" {
			fmt.Println(text)
			return nil
		}
		call := fmt.Appendf(nil, `{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Bash","input":%s}]}`, id, input)
		if err := keep(log, call); err != nil {
			return err
		}
		var in struct{ Command string }
		if err := json.Unmarshal([]byte(input), &in); err != nil {
			return err
		}
		out, err := exec.Command("bash", "-c", in.Command).CombinedOutput()
		if err != nil {
			return err
		}
		result := fmt.Appendf(nil, `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, out)
		if err := keep(log, result); err != nil {
			return err
		}
		messages = append(append(append(append(messages, ','), call...), ','), result...)
	}
}

func keep(f *os.File, line []byte) error {
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return syscall.Fdatasync(int(f.Fd()))
}

func ask(url string, body []byte) (id, input, text string, err error) {
	resp, err := http.Post(url+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", "", "", err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return "", "", "", err
		}
		switch e.Type {
		case "content_block_start":
			if e.Block.Type == "tool_use" {
				id = e.Block.ID
			}
		case "content_block_delta":
			input += e.Delta.PartialJSON
			text += e.Delta.Text
		}
	}
	return id, input, text, lines.Err()
}
