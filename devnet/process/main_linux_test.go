package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the nodes of its networks, and the owner of a
// network that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	var err error
	switch os.Args[1] {
	case "fake-init":
		err = fakeInit(os.Args[2])
	case "fake-node":
		err = fakeNode(os.Args[2])
	case "fake-owner":
		err = fakeOwner(os.Args[2], os.Args[3], os.Args[4])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fakeConfig is what the file's template writes for a fake node.
type fakeConfig struct {
	Data, HTTP, P2P string
	Peers           []string
	Linger          bool // start a process that outlives it
}

func readConfig(path string) (c fakeConfig, err error) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

// fakeInit stands for geth init: it makes the database.
func fakeInit(config string) error {
	c, err := readConfig(config)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Data, "genesis"), []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
}

// fakeNode serves as much JSON-RPC as its network asks for, answers on its p2p
// port, and calls its peers over HTTP: /call/0 asks the first one.
func fakeNode(config string) error {
	c, err := readConfig(config)
	if err != nil {
		return err
	}
	genesis, err := os.ReadFile(filepath.Join(c.Data, "genesis"))
	if err != nil {
		return err
	}
	if c.Linger {
		cmd := exec.Command("/bin/sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	ln, err := net.Listen("tcp", c.P2P)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); io.Copy(conn, conn) }()
		}
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("/call/{peer}", func(w http.ResponseWriter, r *http.Request) {
		i := int(r.PathValue("peer")[0] - '0')
		conn, err := net.DialTimeout("tcp", c.Peers[i], time.Second)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
		fmt.Fprintln(conn, "hello")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, line)
	})
	mux.HandleFunc("/genesis", func(w http.ResponseWriter, _ *http.Request) { w.Write(genesis) })
	mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Join(os.Environ(), "\n")) })
	begun := time.Now()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		json.NewDecoder(r.Body).Decode(&req)
		result := `null`
		switch req.Method {
		case "eth_blockNumber":
			result = fmt.Sprintf(`"0x%x"`, int(time.Since(begun)/(20*time.Millisecond)))
		case "eth_syncing":
			result = fmt.Sprint(time.Since(begun) < 100*time.Millisecond)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Addr: c.HTTP, Handler: mux}
	go func() { <-ctx.Done(); srv.Close() }()
	fmt.Println("the fake node is up")
	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// fakeOwner runs a network as jepgo test does, until it is killed.
func fakeOwner(file, dir, made string) error {
	f, err := Read(file)
	if err != nil {
		return err
	}
	if _, err := Start(context.Background(), Options{File: f, Dir: dir, Seed: "1", Link: made}); err != nil {
		return err
	}
	fmt.Println("up")
	select {}
}
