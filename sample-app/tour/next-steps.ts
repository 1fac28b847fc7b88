/** What to try once the tour is over. */
export function describeNextSteps(url: string): string {
  return `
What to try next, from another terminal:

  Sign somebody up, and look at the mail in the outbox:
    curl -X POST ${url}/signup -H 'content-type: application/json' -d '{"name":"You","email":"you@two.example"}'

  Look at the job table (completed jobs have no row any more), and at what the memory queue keeps warm:
    curl ${url}/jobs
    curl ${url}/stats

  Ask for a reminder, and then for an earlier one: it is the same job, and one mail.
    curl -X POST ${url}/reminders -H 'content-type: application/json' -d '{"email":"you@two.example","inSeconds":3600}'
    curl -X POST ${url}/reminders -H 'content-type: application/json' -d '{"email":"you@two.example","inSeconds":2}'

  See when the nightly digest comes, and have one sent now:
    curl ${url}/digest
    curl -X POST ${url}/digest

  Stop it by Ctrl-C, or it would send the mail itself. Start it with mails that take 20 s, kill it in the middle of one,
  and start it again: the mail is sent all the same. (Who has signed up cannot again: take another address next time.)
    SLOW=20000 npm run sample -- --serve
    curl -X POST ${url}/signup -H 'content-type: application/json' -d '{"name":"Kim","email":"kim@slow.example"}'
    kill -9 <the process number that it says>
    npm run sample

  Stop it by Ctrl-C instead: it takes no new job and waits for the one that runs.
`;
}
