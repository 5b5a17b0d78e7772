async function startRuns() {}
