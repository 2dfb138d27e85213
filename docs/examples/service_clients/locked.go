// Works under a lock of `redlock serve`, with the standard library of Go alone: docs/how-to/service-clients.md.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

type held struct {
	Id         string
	ValidForMs int64 `json:"valid_for_ms"`
	WaitedMs   int64 `json:"waited_ms"`
}

func call(method, path, body string) (lock held, status int, err error) {
	request, err := http.NewRequest(method, os.Getenv("LOCKS")+path, bytes.NewBufferString(body))
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if status = answer.StatusCode; status >= 400 {
		err = fmt.Errorf("%s %s: %s", method, path, answer.Status)
	} else if status != 204 {
		err = json.NewDecoder(answer.Body).Decode(&lock)
	}
	return
}

func main() {
	//[acquire
	sent := time.Now() // the validity counts from here, and from the end of the wait
	lock, status, err := call("POST", "/v1/locks", `{"resources":["jobs/7"],"ttl_ms":10000,"wait_ms":1000}`)
	//]
	if status == 409 {
		fmt.Println("busy: another client holds the lock")
		return
	} else if err != nil {
		panic(err)
	}
	defer func() { call("DELETE", "/v1/held/"+lock.Id, "") }()
	end := sent.Add(time.Duration(lock.WaitedMs+lock.ValidForMs) * time.Millisecond)
	for step := 1; step <= 3; step++ { // each step is shorter than half of the ttl
		if time.Until(end) < 5*time.Second {
			sent = time.Now()
			if lock, _, err = call("PATCH", "/v1/held/"+lock.Id, `{"ttl_ms":10000}`); err != nil {
				panic(err)
			}
			end = sent.Add(time.Duration(lock.ValidForMs) * time.Millisecond)
		}
		fmt.Println("step")
	}
}
