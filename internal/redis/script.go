package redis

import (
	"context"
	"crypto/sha1" // the name of a script, not a secret
	"encoding/hex"
)

// Script is a Lua script that servers identify by its digest.
type Script struct{ source, digest string }

// NewScript returns a script.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{source, hex.EncodeToString(sum[:])}
}

// Call returns the command that runs the script. The command contains the script's digest or, for a
// server that replied NOSCRIPT, the script's source.
func (s *Script) Call(bySource bool, key string, args []any) Command {
	command := make(Command, 0, 4+len(args))
	if bySource {
		command = append(command, "EVAL", s.source)
	} else {
		command = append(command, "EVALSHA", s.digest)
	}
	return append(append(command, 1, key), args...)
}

// Run runs a script with one key.
func (c *Client) Run(ctx context.Context, s *Script, key string, args []any) (any, error) {
	reply, err := c.Do(ctx, s.Call(false, key, args)...)
	if HasCode(err, "NOSCRIPT") {
		return c.Do(ctx, s.Call(true, key, args)...)
	}
	return reply, err
}
