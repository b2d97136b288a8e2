//go:build linux

// Command bareresume is the control for resuming a long session: it reads the rows of the session's
// records, checks each payload against its digest, and posts as many bytes as Holdfast's request
// has. It does not decode the payloads. Without a database it only posts.
//
//	bareresume URL BYTES [DATABASE]
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	modernc "modernc.org/sqlite"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bareresume:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	body := make([]byte, size)
	if len(args) > 2 {
		if err := read(args[2], body); err != nil {
			return err
		}
	}
	res, err := http.Post(args[0]+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

type record struct{ payload, chain []byte }

// read checks all records and copies a part of each into the body of the request.
func read(path string, body []byte) error {
	connector, err := modernc.NewConnector("file://" + path)
	if err != nil {
		return err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), "SELECT payload, chain FROM records ORDER BY row", nil)
	if err != nil {
		return err
	}
	records, checked := make(chan record, 1024), make(chan error, 1)
	go func() { checked <- check(records) }()
	for row := make([]driver.Value, 2); ; {
		if err = rows.Next(row); err != nil {
			break
		}
		r := record{row[0].([]byte), row[1].([]byte)}
		body = body[copy(body, r.payload[:len(r.payload)*5/9]):]
		records <- r
	}
	close(records)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, <-checked, rows.Close())
}

func check(records <-chan record) (err error) {
	for r := range records {
		if sum := sha256.Sum256(r.payload); !bytes.Equal(sum[:], r.chain[32:64]) {
			err = errors.New("a payload does not match its digest")
		}
	}
	return err
}
