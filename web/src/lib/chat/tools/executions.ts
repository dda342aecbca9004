// The executions of cards.
import { client } from '../../app/client';
import { Execution } from '../../runs/Execution.svelte';
import { Early } from './early';

/** Memory for the lines of a card; the rest is loaded when somebody scrolls to it. */
const BUDGET = 4 << 20;

export const executions = new Early((id) => new Execution(client, id, { budget: BUDGET }));
