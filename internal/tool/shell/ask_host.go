package shell

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// runningCall is a call together with the command that it runs. It is stored in the command's context.
type runningCall struct {
	call  *tool.Call
	line  string
	clock *clock
}

type runningCallKey struct{}

// AskHost is a function for [sandbox.OpenOptions].Ask. It asks about a host to which a command of
// this tool wants to connect, if the host is in no list or has a private address. The command's
// time limit is paused while the user is asked. The context must be the context of the command.
func AskHost(ctx context.Context, host string, port int, address string) (bool, error) {
	r, ok := ctx.Value(runningCallKey{}).(*runningCall)
	if !ok || r.call.Ask == nil {
		return false, errors.New("no one can answer")
	}
	in, err := json.Marshal(struct {
		Host    string `json:"host"`
		Port    int    `json:"port"`
		Command string `json:"command"`
		Address string `json:"address,omitempty"`
	}{host, port, r.line, address})
	if err != nil {
		return false, err
	}
	defer r.clock.pause()()
	err = r.call.Ask(ctx, policy.Request{
		Tool: webFetch, Operation: policy.OpConnect, Resource: net.JoinHostPort(host, strconv.Itoa(port)), Address: address, Input: in, Confined: true,
	})
	return err == nil, err
}

// webFetch is the tool whose rules name hosts.
const webFetch = "WebFetch"
