package redis

import (
	"context"
	"sync"
	"time"
)

// maxMessage is how many bytes a message may take in memory.
const maxMessage = 1 << 20

// Subscriber hears what is published on channels, over a connection of its own. When that
// is lost, [Subscriber.Next] makes another one, and what was said meanwhile is not heard.
// It is safe for concurrent use, Next by one goroutine at a time.
type Subscriber struct {
	client *Client
	life   context.Context // it ends with Close
	end    context.CancelFunc

	mu       sync.Mutex
	conn     *Conn // nil when there is none
	channels map[string]bool
}

// Subscriber makes one that hears nothing yet. Whoever made it closes it.
func (c *Client) Subscriber() *Subscriber {
	s := &Subscriber{client: c, channels: map[string]bool{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Subscribe adds a channel. If it cannot be told to the server now, it is when the
// connection is made anew.
func (s *Subscriber) Subscribe(channel string) { s.change("SUBSCRIBE", channel, true) }

// Unsubscribe removes a channel.
func (s *Subscriber) Unsubscribe(channel string) { s.change("UNSUBSCRIBE", channel, false) }

func (s *Subscriber) change(command, channel string, add bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if add {
		s.channels[channel] = true
	} else {
		delete(s.channels, channel)
	}
	if s.conn == nil {
		return
	}
	if err := s.conn.tell(Command{command, channel}); err != nil {
		s.conn.close() // who reads from it finds out
	}
}

// tell sends a command whose answer somebody else reads.
func (c *Conn) tell(command Command) error {
	at := time.Time{}
	if c.timeout > 0 {
		at = time.Now().Add(c.timeout)
	}
	if err := c.net.SetWriteDeadline(at); err != nil {
		return err
	}
	if err := command.write(c.w); err != nil {
		return err
	}
	return c.w.Flush()
}

// Next waits for news of a channel: that something was said on it, or that it is heard
// from now on. After an error it may be called again, a little later; [ErrClosed] is the
// last one.
func (s *Subscriber) Next() (channel string, err error) {
	for {
		conn, err := s.connected()
		if err != nil {
			return "", s.closedOr(err)
		}
		reply, err := readReply(conn.r, maxMessage)
		if err != nil {
			s.mu.Lock()
			s.conn = nil
			s.mu.Unlock()
			conn.close()
			return "", s.closedOr(err)
		}
		if e, ok := reply.(Error); ok {
			return "", e
		}
		push, _ := reply.([]any)
		if len(push) != 3 {
			continue
		}
		if kind := push[0]; kind == "message" || kind == "subscribe" {
			channel, _ = push[1].(string)
			return channel, nil
		}
	}
}

func (s *Subscriber) closedOr(err error) error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	return err
}

// connected returns the connection, or makes it.
func (s *Subscriber) connected() (*Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	c := s.client
	addr := c.opt.Addr
	if c.Clustered() {
		var err error
		if addr, err = c.find(s.life); err != nil {
			return nil, err
		}
	}
	conn, err := c.ready(s.life, addr)
	if err != nil {
		c.lose(addr)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	subscribe := Command{"SUBSCRIBE"}
	for channel := range s.channels {
		subscribe = append(subscribe, channel)
	}
	if len(subscribe) > 1 {
		err = conn.tell(subscribe)
	}
	if err == nil {
		err = conn.net.SetReadDeadline(time.Time{})
	}
	if err == nil && s.life.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		conn.close()
		return nil, err
	}
	s.conn = conn
	return conn, nil
}

// Close closes the connection.
func (s *Subscriber) Close() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.close()
	}
}
