package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// Socket is a connection that speaks the messages of docs/wire.md. Send may be called
// from any goroutine, Receive from one at a time.
type Socket struct {
	conn  *websocket.Conn
	place string
}

// socketLimit bounds a message of the daemon, in bytes.
const socketLimit = 64 << 20

// Socket opens a WebSocket. The caller closes it.
func (c *Client) Socket(ctx context.Context) (*Socket, error) {
	head := http.Header{}
	c.sign(head)
	conn, resp, err := websocket.Dial(ctx, c.base+"/v1/ws", &websocket.DialOptions{ //nolint:bodyclose // its library says that it never needs to be
		HTTPClient: c.http, HTTPHeader: head, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil && resp.StatusCode >= 300 && resp.Body != nil {
			return nil, problemOf(resp)
		}
		return nil, &Error{Op: "open the WebSocket", Place: c.place, Err: err}
	}
	conn.SetReadLimit(socketLimit)
	return &Socket{conn: conn, place: c.place}, nil
}

// Send sends a message: a pointer to one of wire's requests, whose type is filled in.
// What the daemon would refuse is an error here.
func (s *Socket) Send(ctx context.Context, r wire.Request) error {
	b, err := wire.EncodeRequest(r)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := s.conn.Write(ctx, websocket.MessageText, b); err != nil {
		return &Error{Op: fmt.Sprintf("send %T", r), Place: s.place, Err: err}
	}
	return nil
}

// Receive returns the next message. When the daemon has closed the connection the
// error wraps a websocket.CloseError with the code.
func (s *Socket) Receive(ctx context.Context) (wire.Message, error) {
	kind, b, err := s.conn.Read(ctx)
	if err != nil {
		return nil, &Error{Op: "receive", Place: s.place, Err: err}
	}
	if kind != websocket.MessageText {
		return nil, &Error{Op: "receive", Place: s.place, Err: errors.New("the message is no text")}
	}
	return wire.ParseMessage(b)
}

// Close says good-bye.
func (s *Socket) Close() error { return s.conn.Close(websocket.StatusNormalClosure, "") }
